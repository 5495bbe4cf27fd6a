// Command gen writes the chart's values.schema.json: the chart's own values from
// values.schema.in.json, and the plugin's configuration from its schema, so that
// Helm refuses a misspelt limit before anything is installed.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"sluice/internal/config/schema"
)

//go:generate go run . values.schema.in.json ../sluice/values.schema.json

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: gen VALUES OUT")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(values, out string) error {
	text, err := os.ReadFile(values)
	if err != nil {
		return err
	}
	v, err := parse(values, text)
	if err != nil {
		return err
	}
	// Not from the file in docs/reference, which may be generated after this.
	configuration, err := schema.JSON()
	if err != nil {
		return err
	}
	c, err := parse("the configuration's schema", configuration)
	if err != nil {
		return err
	}
	properties, ok := v["properties"].(map[string]any)
	if !ok {
		return fmt.Errorf("%s has no properties", values)
	}
	delete(c, "$schema")
	delete(c, "title")
	properties["config"] = c
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(out, append(b, '\n'), 0o644)
}

func parse(name string, text []byte) (map[string]any, error) {
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

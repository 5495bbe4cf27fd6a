// Command gen writes the chart's values.schema.json: the chart's own values from
// values.schema.in.json, and the plugin's configuration from its schema, so that
// Helm refuses a misspelt limit before anything is installed.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

//go:generate go run . values.schema.in.json ../../../docs/reference/schema.json ../sluice/values.schema.json

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: gen VALUES CONFIGURATION OUT")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(values, configuration, out string) error {
	v, err := read(values)
	if err != nil {
		return err
	}
	c, err := read(configuration)
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

func read(file string) (map[string]any, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return m, nil
}

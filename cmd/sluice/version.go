package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"

	"github.com/spf13/cobra"

	"sluice/internal/version"
	"sluice/internal/wasmfile"
)

// moduleSHA256 is the checksum of the plugin that was built with this tool, hex;
// make build sets it.
var moduleSHA256 string

// toolVersion is what `sluice version` says of the tool.
type toolVersion struct {
	Version      string `json:"version"`
	ModuleSHA256 string `json:"module_sha256,omitempty"` // of the plugin built with it
	Go           string `json:"go"`
	MinEnvoy     string `json:"min_envoy"`
}

// moduleVersion is what `sluice version FILE` says of a plugin's file.
type moduleVersion struct {
	Version  string `json:"version"`
	SHA256   string `json:"sha256"`
	Go       string `json:"go"`
	MinEnvoy string `json:"min_envoy"`
	ABI      string `json:"proxy_wasm"`
	Host     string `json:"host"` // envoy or higress
	Size     int    `json:"size"` // bytes
}

func newVersion() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version [FILE]",
		Short: "Say which version this is, or what a plugin's file is",
		Long: `Says which version of sluice this is, which plugin was built with it, and the
oldest Envoy that runs it. With FILE it says what that file is: a plugin knows its
version without being run.

` + exitCodes,
		Example: "  sluice version\n  sluice version sluice.wasm --json",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError{fmt.Errorf("%s takes one file, and got %q", cmd.CommandPath(), args)}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return printTool(cmd.OutOrStdout(), asJSON)
			}
			return printModule(cmd.OutOrStdout(), args[0], asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printTool(out io.Writer, asJSON bool) error {
	v := toolVersion{
		Version: version.Version, ModuleSHA256: moduleSHA256, Go: runtime.Version(),
		MinEnvoy: "1." + strconv.Itoa(version.MinEnvoyMinor),
	}
	if asJSON {
		return versionJSON(out, v)
	}
	plugin := "sha256 " + v.ModuleSHA256
	if v.ModuleSHA256 == "" {
		plugin = "not known: this tool was built by itself"
	}
	_, err := fmt.Fprintf(out, "sluice %s\nplugin: %s\nEnvoy:  %s or later\nGo:     %s\n", v.Version, plugin, v.MinEnvoy, v.Go)
	return err
}

// maxModule is more than any plugin has, bytes.
const maxModule = 256 << 20

func printModule(out io.Writer, file string, asJSON bool) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	module, err := io.ReadAll(io.LimitReader(f, maxModule+1))
	if err != nil {
		return err
	}
	if len(module) > maxModule {
		return fmt.Errorf("%s: %w", file, errors.New("larger than any plugin"))
	}
	i, err := wasmfile.Describe(module)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	v := moduleVersion{i.Version, i.SHA256, i.Go, i.MinEnvoy, i.ABI, i.Host, i.Size}
	if asJSON {
		return versionJSON(out, v)
	}
	runs := "Envoy " + v.MinEnvoy + " or later"
	if v.Host == "higress" {
		runs = "Higress only"
	}
	_, err = fmt.Fprintf(out, "sluice %s, a plugin of %d bytes\nsha256:  %s\nruns on: %s (proxy-wasm %s)\nGo:      %s\n",
		v.Version, v.Size, v.SHA256, runs, v.ABI, v.Go)
	return err
}

func versionJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

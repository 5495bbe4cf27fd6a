package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sluice/internal/config"
	"sluice/internal/manifest"
)

func newManifest() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "manifest",
		Short: "Make a platform's deployment files from a configuration",
		Long: `Makes what a platform takes from one configuration: a whole Envoy configuration,
or the Kubernetes objects of Istio, Envoy Gateway or Higress. What can't work
there is refused, with the reason.

Secrets are never part of the files: a password is named by its environment
variable (redis.password_env) and, on Kubernetes, its Secret.

` + exitCodes,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	cmd.SuggestionsMinimumDistance = 2
	for _, t := range []struct {
		target  manifest.Target
		short   string
		example string
	}{
		{manifest.Envoy, "a whole configuration for a plain Envoy",
			"  sluice manifest envoy limits.yaml --redis redis:6379 --upstream app:8080 > envoy.yaml"},
		{manifest.Istio, "an EnvoyFilter and a WasmPlugin for a gateway, sidecars or a waypoint",
			"  sluice manifest istio limits.yaml --gateway web -n ingress --redis redis.data.svc.cluster.local:6379 --image oci://REGISTRY/sluice:VERSION | kubectl apply -f -"},
		{manifest.EnvoyGateway, "an EnvoyProxy and an EnvoyExtensionPolicy",
			"  sluice manifest envoy-gateway limits.yaml --gateway web -n ingress --redis redis.data.svc.cluster.local:6379 --image oci://REGISTRY/sluice:VERSION | kubectl apply -f -"},
		{manifest.Higress, "a WasmPlugin, for Higress's own Redis calls",
			"  sluice manifest higress limits.yaml -n higress-system --redis redis.data.svc.cluster.local:6379 --image oci://REGISTRY/sluice-higress:VERSION | kubectl apply -f -"},
	} {
		cmd.AddCommand(newManifestTarget(t.target, t.short, t.example))
	}
	return cmd
}

// manifestFlags is a command line of `sluice manifest TARGET`.
type manifestFlags struct {
	opts manifest.Options
	mode string
	tls  bool
	sec  manifest.TLS
	out  string
}

func newManifestTarget(target manifest.Target, short, example string) *cobra.Command {
	f := &manifestFlags{opts: manifest.Options{Target: target}}
	cmd := &cobra.Command{
		Use:     string(target) + " FILE",
		Short:   "Make " + short,
		Long:    "Makes " + short + ". FILE is a configuration, - the standard input.\n\n" + exitCodes,
		Example: example,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{fmt.Errorf("%s takes one file, and got %q; see %s --help", cmd.CommandPath(), args, cmd.CommandPath())}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, args[0])
		},
	}
	f.declare(cmd)
	return cmd
}

func (f *manifestFlags) declare(cmd *cobra.Command) {
	flags, o := cmd.Flags(), &f.opts
	flags.StringVarP(&f.out, "output", "o", "", "file or folder to write to (default: the standard output)")
	flags.StringSliceVar(&o.Redis, "redis", nil, "where Redis is, host:port; several for the nodes of a cluster")
	if o.Target != manifest.Higress {
		flags.BoolVar(&o.RedisCluster, "redis-cluster", false, "Redis is a cluster: go through Envoy's Redis proxy")
		flags.BoolVar(&f.tls, "tls", false, "reach Redis over TLS")
		flags.StringVar(&f.sec.CA, "tls-ca", "", "authorities to believe: a file where Envoy runs (default: the system's), or secret:NAME or configmap:NAME with a key ca.crt")
		flags.StringVar(&f.sec.Name, "tls-name", "", "name in the server's certificate (default: the host of --redis)")
		flags.StringVar(&f.sec.Cert, "tls-cert", "", "file of a client certificate where Envoy runs")
		flags.StringVar(&f.sec.Key, "tls-key", "", "file of its key")
	}
	if o.Target == manifest.Envoy {
		flags.StringVar(&o.Upstream, "upstream", "", "the application behind the gateway, host:port")
		flags.StringVar(&o.Listen, "listen", "0.0.0.0:10000", "where the gateway takes requests, host:port")
		flags.StringVar(&o.Module, "module", "/etc/envoy/sluice.wasm", "the plugin's file where Envoy runs")
		flags.StringVar(&o.Watch, "watch", "", "path where Envoy runs of a file with the plugin's configuration, which Envoy watches: a change takes effect at once; needs -o FOLDER")
		return
	}
	flags.StringVarP(&o.Namespace, "namespace", "n", "", "namespace of the gateway or the workloads")
	flags.StringVar(&o.Image, "image", "", "where the proxies get the plugin: oci://REGISTRY/NAME:TAG, or https://")
	flags.StringVar(&o.SHA256, "sha256", "", "checksum to compare with: the manifest's digest of an image, that of the file with https://")
	flags.StringVar(&o.PullSecret, "pull-secret", "", "Secret with which the image is pulled")
	if o.Target == manifest.Higress {
		return
	}
	flags.StringVar(&o.Gateway, "gateway", "", "name of the Gateway, or waypoint, that gets the plugin")
	flags.StringVar(&o.PasswordSecret, "password-secret", "", "Secret that fills redis.password_env, NAME or NAME/KEY (key: password)")
	if o.Target == manifest.Istio {
		flags.StringVar(&f.mode, "mode", "gateway", "gateway, sidecar or waypoint")
		flags.StringSliceVar(&o.Selector, "selector", nil, "labels of the pods, key=value: of sidecars, or of a gateway that no Gateway resource made")
		flags.BoolVar(&o.InMesh, "in-mesh", false, "Redis is a service of the mesh: reach it with the mesh's mutual TLS")
	}
}

func (f *manifestFlags) run(cmd *cobra.Command, file string) error {
	o := f.opts
	if f.tls {
		o.TLS = &f.sec
	} else if f.sec != (manifest.TLS{}) {
		return usageError{errors.New("--tls-… needs --tls")}
	}
	switch o.Mode = manifest.Mode(f.mode); o.Mode {
	case "", manifest.Gateway, manifest.Sidecar, manifest.Waypoint:
	default:
		return usageError{fmt.Errorf("--mode is gateway, sidecar or waypoint, not %q", f.mode)}
	}
	folder := isFolder(f.out)
	if o.Watch != "" && !folder {
		return usageError{errors.New("--watch makes two files: say -o FOLDER")}
	}
	text, source, err := readConfiguration(cmd.InOrStdin(), file)
	if err != nil {
		return err
	}
	o.Source = source
	files, err := manifest.Make(text, o)
	if err != nil {
		return classify(err)
	}
	switch {
	case f.out == "":
		_, err = cmd.OutOrStdout().Write(manifest.Join(files))
		return err
	case !folder:
		return os.WriteFile(f.out, manifest.Join(files), 0o644)
	}
	if err := os.MkdirAll(f.out, 0o755); err != nil {
		return err
	}
	for _, x := range files {
		path := filepath.Join(f.out, x.Name)
		if err := os.WriteFile(path, x.Text, 0o644); err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), path)
	}
	return nil
}

// classify tells a mistake on the command line from one in the configuration.
func classify(err error) error {
	var refusals manifest.RefusalErrors
	if errors.As(err, &refusals) && !slices.ContainsFunc(refusals, func(r manifest.RefusalError) bool { return !strings.HasPrefix(r.Path, "--") }) {
		return usageError{err}
	}
	return refusedError{err}
}

// isFolder says whether output goes into a folder: one that is there, or a path
// that ends as one.
func isFolder(path string) bool {
	if path == "" {
		return false
	}
	if strings.HasSuffix(path, string(filepath.Separator)) {
		return true
	}
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// readConfiguration reads a configuration and says what to call it.
func readConfiguration(stdin io.Reader, file string) (text []byte, name string, err error) {
	if file == "-" {
		// One byte too many is enough to be refused.
		text, err = io.ReadAll(io.LimitReader(stdin, config.MaxBytes+1))
		return text, "the standard input", err
	}
	text, err = os.ReadFile(file)
	return text, file, err
}

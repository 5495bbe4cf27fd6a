package manifest

import (
	"fmt"
	"net"
	"strings"

	"go.yaml.in/yaml/v3"

	"sluice/internal/config"
	"sluice/internal/config/yamlconfig"
)

// ConfigError is a configuration that is wrong whatever the target.
type ConfigError struct {
	Source   string
	Problems []yamlconfig.Problem
}

func (e *ConfigError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = e.Source + ":" + p.String()
	}
	return strings.Join(lines, "\n")
}

// settings are the configuration as the plugin gets it on this target: what the
// file says, with what the surroundings decide.
func settings(json []byte, p *config.Policy, o *Options) (node, error) {
	var tree yaml.Node
	if err := yaml.Unmarshal(json, &tree); err != nil {
		return nil, fmt.Errorf("read the configuration back: %w", err)
	}
	root := block(tree.Content[0])
	redis := at(root, "redis")
	if redis == nil {
		redis = object()
		root.Content = append([]node{text("redis"), redis}, root.Content...)
	}
	switch {
	case o.Target == Higress:
		set(redis, "link", text("host"))
		set(redis, "cluster", text(meshCluster(o.Redis[0])))
		comment(redis, "link", "Higress's own Redis calls; the cluster is the service, as Istio names it.")
	case clustered(p, o):
		if p.Redis.PasswordEnv != "" {
			// The Redis proxy would answer the plugin's AUTH itself, with an error.
			remove(redis, "password_env")
			defer comment(root, "redis", "No password here: Envoy's Redis proxy logs in, see the cluster redis_nodes.")
		}
	}
	if at(redis, "cluster") == nil {
		set(redis, "cluster", text(p.Redis.Cluster))
	}
	return root, nil
}

// meshCluster is Istio's name of the cluster for a service.
func meshCluster(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return ""
	}
	return "outbound|" + port + "||" + host
}

// variables are the environment variables that the plugin has to see.
func variables(p *config.Policy, o *Options) []string {
	var names []string
	if p.Redis.PasswordEnv != "" && !clustered(p, o) {
		names = append(names, p.Redis.PasswordEnv)
	}
	if p.HashSecretEnv != "" && p.HashSecretEnv != p.Redis.PasswordEnv {
		names = append(names, p.HashSecretEnv)
	}
	return names
}

package envoyconfig

import (
	"fmt"

	"github.com/goccy/go-yaml"
)

// ListenersFrom takes the gateway's listener out of the configuration and has
// Envoy watch file for it; Discovery makes what belongs into the file.
func (c *Config) ListenersFrom(file string) {
	c.RemoveListener(Gateway)
	c.root["node"] = M{"id": "gateway", "cluster": "gateways"}
	c.root["dynamic_resources"] = M{
		"lds_config": M{
			"resource_api_version": "V3",
			"path_config_source":   M{"path": file},
		},
	}
}

// Discovery is the listener of that name as a file that Envoy watches. Envoy
// notices a new file only when it is moved over the old one.
func (c *Config) Discovery(listener string) ([]byte, error) {
	resource := M{"@type": "type.googleapis.com/envoy.config.listener.v3.Listener"}
	for name, value := range c.listener(listener) {
		resource[name] = value
	}
	if _, err := c.YAML(); err != nil {
		return nil, err
	}
	text, err := yaml.MarshalWithOptions(M{"resources": []any{resource}}, yaml.UseLiteralStyleIfMultiline(true))
	if err != nil {
		return nil, fmt.Errorf("write listener %s: %w", listener, err)
	}
	return text, nil
}

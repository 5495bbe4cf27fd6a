package envoyconfig

import (
	_ "embed"
	"encoding/hex"

	"github.com/goccy/go-yaml"
)

//go:embed sentinel.yaml
var followMaster []byte

// FollowMaster has the pipe lead to whichever of these servers, each host:port,
// says that it is the master. user and password, unless empty, are those of an
// account that may ask for it by ROLE; user is empty for the default one.
func (c *Config) FollowMaster(nodes []string, user, password string) {
	var addresses []M
	for _, node := range nodes {
		a, err := socketAddress(node)
		if err != nil {
			c.fail("Redis server: %w", err)
			return
		}
		addresses = append(addresses, a)
	}
	var parts struct{ Clusters []any }
	if err := yaml.Unmarshal(followMaster, &parts); err != nil {
		c.fail("read sentinel.yaml: %w", err)
		return
	}
	cluster := named(parts.Clusters, Pipe)
	send, _ := at(cluster, "health_checks", 0, "tcp_health_check", "send").(M)
	if send == nil {
		c.fail("sentinel.yaml has no health check of %s", Pipe)
		return
	}
	cluster["load_assignment"] = assignment(Pipe, addresses...)
	if password != "" {
		login := "AUTH "
		if user != "" {
			login += user + " "
		}
		send["text"] = hex.EncodeToString([]byte(login + password + "\r\nROLE\r\n"))
	}
	if old := c.cluster(Pipe); old != nil {
		for name, value := range cluster {
			old[name] = value
		}
	}
}

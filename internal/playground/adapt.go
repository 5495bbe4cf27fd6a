package playground

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"sluice/internal/config"
	"sluice/internal/stack/envoyconfig"
)

// adapted is a configuration as the plugin is given it here.
type adapted struct {
	json   string
	env    []string // environment variables that it names
	secret []byte   // of the hashes of keys
	notes  []string
}

// elsewhere are the fields that say how the real Redis is reached.
var elsewhere = []string{"username", "password", "password_env", "db", "topology"}

// adapt makes a configuration that was written for another gateway work on this
// machine's: here the pipe has the name of envoy.yaml's, and a Redis that was
// started for the occasion is one server without a password.
func adapt(text []byte, p *config.Policy, ownRedis bool) (adapted, error) {
	var a adapted
	if name := p.HashSecretEnv; name != "" {
		a.env = append(a.env, name)
		a.secret = []byte(os.Getenv(name))
		if len(a.secret) == 0 {
			return a, fmt.Errorf("hash_secret_env: the environment variable %s was empty when sluice dev started", name)
		}
	}
	var root map[string]any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber() // a number keeps its digits
	if err := dec.Decode(&root); err != nil {
		return a, fmt.Errorf("read the configuration: %w", err)
	}
	redis, _ := root["redis"].(map[string]any)
	if redis == nil {
		redis = map[string]any{}
		root["redis"] = redis
	}
	if p.Redis.Cluster != envoyconfig.Pipe {
		a.notes = append(a.notes, "redis.cluster is "+envoyconfig.Pipe+" here")
	}
	redis["cluster"] = envoyconfig.Pipe
	if _, given := redis["link"]; given && p.Redis.Link != config.PipeLink {
		a.notes = append(a.notes, "redis.link is pipe here")
		delete(redis, "link")
	}
	if ownRedis {
		for _, field := range elsewhere {
			if _, given := redis[field]; given {
				a.notes = append(a.notes, "redis."+field+" is left out: this Redis is local")
				delete(redis, field)
			}
		}
	} else if name := p.Redis.PasswordEnv; name != "" {
		a.env = append(a.env, name)
		if os.Getenv(name) == "" {
			return a, fmt.Errorf("redis.password_env: the environment variable %s was empty when sluice dev started", name)
		}
	}
	out, err := json.Marshal(root)
	if err != nil {
		return a, fmt.Errorf("write the configuration: %w", err)
	}
	a.json = string(out)
	return a, nil
}

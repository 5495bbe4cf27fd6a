package doctor

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"sluice/internal/config"
)

// object is a JSON object.
type object = map[string]any

// dump is what a gateway's config_dump tells about sluice.
type dump struct {
	plugins []running // each filter's configuration
	// managers are the HTTP connection managers that have the filter, or all
	// where it comes by discovery under another name.
	managers []object
	tags     bool // labels are made of metric names
}

// running is a configuration that a gateway runs.
type running struct {
	json   []byte
	print  string // the same for the same configuration
	policy *config.Policy
	errs   config.Errors
}

// readDump finds sluice in a config_dump.
func readDump(text []byte) (*dump, error) {
	var all any
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	d := &dump{}
	var managers []object
	d.walk(all, &managers, 0)
	for _, m := range managers {
		if hasFilter(m) {
			d.managers = append(d.managers, m)
		}
	}
	if len(d.managers) == 0 && len(d.plugins) > 0 {
		d.managers = managers
	}
	return d, nil
}

const maxDepth = 100 // of a config_dump

func (d *dump) walk(v any, managers *[]object, depth int) {
	if depth > maxDepth {
		return
	}
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			d.walk(item, managers, depth+1)
		}
	case object:
		if t, _ := v["@type"].(string); strings.HasSuffix(t, ".HttpConnectionManager") {
			*managers = append(*managers, v)
		}
		if c, ok := v["configuration"]; ok && (v["vm_config"] != nil || v["root_id"] != nil) && isSluice(v) {
			d.plugins = append(d.plugins, read(c))
		}
		if tags, ok := v["stats_tags"].([]any); ok {
			for _, t := range tags {
				o, _ := t.(object)
				regex, _ := o["regex"].(string)
				d.tags = d.tags || strings.Contains(regex, "limit=")
			}
		}
		for _, item := range v {
			d.walk(item, managers, depth+1)
		}
	}
}

// isSluice reports whether a wasm plugin is this one: by its name, its module, or
// what it is configured with.
func isSluice(plugin object) bool {
	c := plugin["configuration"]
	rest := object{}
	for k, v := range plugin {
		if k != "configuration" {
			rest[k] = v
		}
	}
	b, err := json.Marshal(rest)
	if err == nil && strings.Contains(string(b), "sluice") {
		return true
	}
	var o object
	return json.Unmarshal(plain(c), &o) == nil && o["limits"] != nil
}

// plain is a plugin's configuration as JSON: the text of a StringValue, or a
// Struct.
func plain(c any) []byte {
	o, _ := c.(object)
	v, ok := o["value"]
	if !ok {
		v = c
	}
	if s, ok := v.(string); ok {
		return []byte(s)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return b
}

func read(c any) running {
	r := running{json: plain(c)}
	r.print = Fingerprint(r.json)
	r.policy, r.errs = config.Parse(r.json)
	return r
}

// Fingerprint is the same for configurations that say the same, however their
// fields are ordered and their numbers written.
func Fingerprint(text []byte) string {
	var v any
	if json.Unmarshal(text, &v) == nil {
		if b, err := json.Marshal(v); err == nil {
			text = b
		}
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:4])
}

// hasFilter reports whether an HTTP connection manager has a sluice filter.
func hasFilter(manager object) bool {
	filters, _ := manager["http_filters"].([]any)
	for _, f := range filters {
		o, _ := f.(object)
		b, err := json.Marshal(o)
		if err == nil && strings.Contains(string(b), "sluice") {
			return true
		}
	}
	return false
}

package manifest

import (
	"path"

	"sluice/internal/config"
	"sluice/internal/goabi/capabilities"
	"sluice/internal/stack/envoyconfig"
)

// envoyFiles makes a whole configuration for a plain Envoy.
func envoyFiles(json []byte, p *config.Policy, o *Options) ([]File, error) {
	root := example()
	static := at(root, "static_resources")
	listener := named(at(static, "listeners"), envoyconfig.Gateway)
	set(listener, "address", flow(socket(o.Listen)))
	upstream := named(at(static, "clusters"), envoyconfig.Upstream)
	toAddresses(upstream, envoyconfig.Upstream, []string{o.Upstream})

	values, err := settings(json, p, o)
	if err != nil {
		return nil, err
	}
	filter := named(at(listener, "filter_chains", 0, "filters", 0, "typed_config", "http_filters"), envoyconfig.Plugin)
	plugin := at(filter, "typed_config")
	fill(at(plugin, "config"), values, p, o)

	way := makePipe(p, o)
	if len(way.listeners) > 0 {
		i := index(root, "admin") + 2
		root.Content = append(root.Content[:i:i], append([]node{text("bootstrap_extensions"), bootstrapExtensions()}, root.Content[i:]...)...)
		comment(root, "bootstrap_extensions", innerListener)
	}
	set(static, "listeners", list(append([]node{listener}, way.listeners...)...))
	set(static, "clusters", list(append([]node{upstream}, way.clusters...)...))

	main := File{Name: "envoy.yaml", docs: []node{root}}
	if o.Watch == "" {
		main.head = head("A gateway with the limits of "+o.Source+":", "  envoy -c envoy.yaml")
		return []File{main}, nil
	}
	root.Content = append([]node{text("node"), flow(object("id", "gateway", "cluster", "gateways"))}, root.Content...)
	comment(root, "node", "Envoy wants a name wherever it watches something.")
	remove(filter, "typed_config")
	set(filter, "config_discovery", object(
		"config_source", object("resource_api_version", "V3", "path_config_source", watched(o.Watch)),
		"type_urls", texts("type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm")))
	comment(filter, "config_discovery", "The plugin's configuration is a file of its own, which Envoy watches: a change\ntakes effect with the next request, on open connections too.")
	main.head = head("A gateway with the limits of "+o.Source+". The limits are in "+o.Watch+":", "  envoy -c envoy.yaml")
	page := object("resources", list(object(
		"@type", "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig",
		"name", envoyconfig.Plugin,
		"typed_config", plugin)))
	return []File{main, {
		Name: path.Base(o.Watch), docs: []node{page},
		head: head("The plugin and its limits. Envoy watches the folder, and reads this file anew\nwhen one is moved over it; one that is written in place goes unnoticed:",
			"  sluice manifest envoy … -o new/ && mv new/"+path.Base(o.Watch)+" "+o.Watch),
	}}, nil
}

// watched has Envoy read a file anew when something moves into its folder,
// which is also how Kubernetes changes a mounted ConfigMap.
func watched(file string) node {
	return object("path", file, "watched_directory", flow(object("path", path.Dir(file))))
}

// fill writes into envoy.yaml's plugin what depends on the deployment.
func fill(plugin, values node, p *config.Policy, o *Options) {
	vm := at(plugin, "vm_config")
	set(vm, "code", flow(object("local", flow(object("filename", o.Module)))))
	if names := variables(p, o); len(names) > 0 {
		set(vm, "environment_variables", flow(object("host_env_keys", texts(names...))))
		comment(vm, "environment_variables", "Passed on from Envoy's own environment.")
	}
	set(plugin, "configuration", object("@type", "type.googleapis.com/google.protobuf.Struct", "value", values))
	// Before the configuration, which is long.
	remove(plugin, "capability_restriction_config")
	i := index(plugin, "configuration")
	restriction := []node{text("capability_restriction_config"), object("allowed_capabilities", allowed())}
	plugin.Content = append(plugin.Content[:i:i], append(restriction, plugin.Content[i:]...)...)
	comment(plugin, "capability_restriction_config", "All that the plugin may do; Envoy refuses it anything else. Envoy 1.40 warns that\nthis belongs into vm_config, where older ones don't know it.")
}

func allowed() node {
	m := object()
	for _, name := range capabilities.Names() {
		set(m, name, flow(object()))
	}
	return m
}

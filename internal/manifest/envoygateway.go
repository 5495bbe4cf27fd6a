package manifest

import (
	"strings"

	"sluice/internal/config"
)

// envoyGatewayFiles makes an EnvoyProxy, whose bootstrap has the pipe, and an
// EnvoyExtensionPolicy.
func envoyGatewayFiles(json []byte, p *config.Policy, o *Options) ([]File, error) {
	values, err := settings(json, p, o)
	if err != nil {
		return nil, err
	}
	proxy, err := envoyProxy(p, o)
	if err != nil {
		return nil, err
	}
	return []File{
		{Name: "envoyproxy.yaml", docs: []node{proxy}, head: head(
			"The way to Redis, for Envoy Gateway: part of the proxies' bootstrap, so a change\nrolls them. A Gateway has to name it:",
			"  kubectl apply -f envoyproxy.yaml",
			"  kubectl patch gateway "+o.Gateway+" -n "+o.Namespace+" --type merge -p '"+`{"spec":{"infrastructure":{"parametersRef":{"group":"gateway.envoyproxy.io","kind":"EnvoyProxy","name":"sluice"}}}}`+"'",
			"",
			"If it names another EnvoyProxy already, put the spec of this one into that.")},
		{Name: "policy.yaml", docs: []node{extensionPolicy(values, p, o)}, head: head(
			"The plugin with the limits of "+o.Source+". It targets the whole Gateway, once: each\npolicy is a virtual machine of its own in each worker. Check before you apply:",
			"  sluice check "+o.Source+" && kubectl apply -f policy.yaml")},
	}, nil
}

func envoyProxy(p *config.Policy, o *Options) (node, error) {
	way := makePipe(p, o)
	boot, static := object(), object()
	if len(way.listeners) > 0 {
		set(boot, "bootstrap_extensions", bootstrapExtensions())
		comment(boot, "bootstrap_extensions", innerListener)
		set(static, "listeners", list(way.listeners...))
	}
	set(static, "clusters", list(way.clusters...))
	set(boot, "stats_config", statsConfig())
	set(boot, "static_resources", static)
	comment(boot, "stats_config", "Makes labels of the parts of the plugin's metric names.")
	value, err := encode(boot)
	if err != nil {
		return nil, err
	}
	spec := object()
	container, pod := object(), object()
	if o.PasswordSecret != "" {
		set(container, "env", list(secretVariable(p, o)))
	}
	mountCA(o, container, pod)
	if len(container.Content) > 0 {
		deployment := object("container", container)
		if len(pod.Content) > 0 {
			set(deployment, "pod", pod)
		}
		set(spec, "provider", object("type", "Kubernetes", "kubernetes", object("envoyDeployment", deployment)))
	}
	set(spec, "bootstrap", object("type", "Merge", "value", literal(string(value))))
	comment(spec, "bootstrap", "Added to the bootstrap that Envoy Gateway makes.")
	set(spec, "telemetry", object("accessLog", object("settings", list(object(
		"format", object("type", "Text", "text", accessLogFormat()),
		"sinks", list(flow(object("type", "File", "file", flow(object("path", "/dev/stdout"))))))))))
	comment(spec, "telemetry", "One line a request, with what was decided.")
	return object("apiVersion", "gateway.envoyproxy.io/v1alpha1", "kind", "EnvoyProxy",
		"metadata", metadata("sluice", o), "spec", spec), nil
}

func extensionPolicy(values node, p *config.Policy, o *Options) node {
	plugin := object("name", "sluice", "rootID", "sluice")
	set(plugin, "failOpen", boolean(p.OnError != config.OnErrorDeny))
	comment(plugin, "failOpen", "Envoy Gateway can't have a virtual machine that died started anew (FAIL_RELOAD):\nuntil the proxy restarts its requests pass, or are refused where on_error is deny.")
	code := object()
	ref := strings.TrimPrefix(o.Image, "oci://")
	if ref != o.Image {
		image := object("url", ref)
		if o.SHA256 != "" {
			set(image, "sha256", text(o.SHA256))
		}
		if o.PullSecret != "" {
			set(image, "pullSecretRef", flow(object("kind", "Secret", "name", o.PullSecret)))
		}
		set(code, "type", text("Image"))
		set(code, "image", image)
	} else {
		source := object("url", ref)
		if o.SHA256 != "" {
			set(source, "sha256", text(o.SHA256))
		}
		set(code, "type", text("HTTP"))
		set(code, "http", source)
	}
	set(plugin, "code", code)
	if names := variables(p, o); len(names) > 0 {
		set(plugin, "env", flow(object("hostKeys", texts(names...))))
		comment(plugin, "env", "From the proxy's own environment.")
	}
	set(plugin, "config", values)
	return object("apiVersion", "gateway.envoyproxy.io/v1alpha1", "kind", "EnvoyExtensionPolicy",
		"metadata", metadata("sluice", o), "spec", object(
			"targetRefs", list(flow(object("group", "gateway.networking.k8s.io", "kind", "Gateway", "name", o.Gateway))),
			"wasm", list(plugin)))
}

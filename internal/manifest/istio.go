package manifest

import (
	"strings"

	"sluice/internal/config"
)

const managerName = "envoy.filters.network.http_connection_manager"

// istioFiles makes an EnvoyFilter, which adds the pipe, and a WasmPlugin. A
// gateway that its Gateway resource makes also gets what its pods need.
func istioFiles(json []byte, p *config.Policy, o *Options) ([]File, error) {
	values, err := settings(json, p, o)
	if err != nil {
		return nil, err
	}
	filter := envoyFilter(p, o)
	files := []File{
		{Name: "envoyfilter.yaml", docs: []node{filter}, head: head(
			"The way to Redis, for Istio. Exactly one EnvoyFilter may add it to a proxy: of\ntwo clusters with the same name Istio keeps one, and Envoy refuses two listeners.",
			"  kubectl apply -f envoyfilter.yaml -f wasmplugin.yaml")},
		{Name: "wasmplugin.yaml", docs: []node{wasmPlugin(values, p, o)}, head: head(
			"The plugin with the limits of "+o.Source+". Istio hands a change to the proxies\nat once, and no count is lost. Check before you apply: a proxy that starts with a\nconfiguration it can't read answers 500 until it gets a good one.",
			"  sluice check "+o.Source+" && kubectl apply -f wasmplugin.yaml")},
	}
	if pods := podOptions(p, o); pods != nil {
		files = append(files, *pods)
	}
	return files, nil
}

// attach has an object apply to the proxies meant.
func attach(spec node, o *Options, selector string) {
	if len(o.Selector) > 0 {
		set(spec, selector, object(labelsField(selector), labels(o)))
		return
	}
	set(spec, "targetRefs", list(flow(object(
		"group", "gateway.networking.k8s.io", "kind", "Gateway", "name", o.Gateway))))
}

// labelsField is what a selector calls its labels.
func labelsField(selector string) string {
	if selector == "workloadSelector" {
		return "labels"
	}
	return "matchLabels"
}

func labels(o *Options) node {
	m := object()
	for _, s := range o.Selector {
		k, v, _ := strings.Cut(s, "=")
		set(m, k, text(v))
	}
	return flow(m)
}

func metadata(name string, o *Options) node {
	return object("name", name, "namespace", o.Namespace)
}

func envoyFilter(p *config.Policy, o *Options) node {
	// The context of what is added, and that of what requests come to.
	pipeContext, requests := "GATEWAY", "GATEWAY"
	switch o.Mode {
	case Sidecar:
		pipeContext, requests = "SIDECAR_OUTBOUND", "SIDECAR_INBOUND"
	case Waypoint:
		// Istio adds clusters to a waypoint in this context only.
		pipeContext, requests = "SIDECAR_INBOUND", "SIDECAR_INBOUND"
	}
	way := makePipe(p, o)
	patches := list()
	for _, c := range way.clusters {
		patches.Content = append(patches.Content, patch("CLUSTER", pipeContext, c))
	}
	for _, l := range way.listeners {
		patches.Content = append(patches.Content, patch("LISTENER", pipeContext, l))
	}
	patches.Content = append(patches.Content, managerPatch(requests))
	spec := object()
	attach(spec, o, "workloadSelector")
	set(spec, "configPatches", patches)
	return object("apiVersion", "networking.istio.io/v1alpha3", "kind", "EnvoyFilter",
		"metadata", metadata("sluice-redis", o), "spec", spec)
}

func patch(what, context string, value node) node {
	return object("applyTo", what, "match", flow(object("context", context)),
		"patch", object("operation", "ADD", "value", value))
}

// managerPatch changes how the proxy takes requests.
func managerPatch(context string) node {
	typed := object("@type", "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager")
	if context == "GATEWAY" {
		set(typed, "use_remote_address", boolean(true))
		comment(typed, "use_remote_address", "As Istio's gateways have it: the last entry of X-Forwarded-For is then the peer,\nas the proxy saw it, and a caller can't choose its own address.")
	}
	set(typed, "stream_idle_timeout", text(idleTimeout()))
	comment(typed, "stream_idle_timeout", "Istio has none. Should the plugin's virtual machine ever die, this ends the\nrequests it held. Raise it if your streams stay silent for longer.")
	set(typed, "access_log", list(object(
		"name", "envoy.access_loggers.stdout",
		"typed_config", object(
			"@type", "type.googleapis.com/envoy.extensions.access_loggers.stream.v3.StdoutAccessLog",
			"log_format", object("text_format_source", object("inline_string", accessLogFormat()))))))
	comment(typed, "access_log", "One line a request, with what was decided. Where the mesh logs already, put the\nFILTER_STATE parts into its format (meshConfig.accessLogFormat) and delete this.")
	match := object("context", context, "listener", flow(object("filterChain", flow(object("filter", flow(object("name", managerName)))))))
	return object("applyTo", "NETWORK_FILTER", "match", match,
		"patch", object("operation", "MERGE", "value", object("typed_config", typed)))
}

func wasmPlugin(values node, p *config.Policy, o *Options) node {
	spec := object()
	attach(spec, o, "selector")
	set(spec, "url", text(o.Image))
	if o.SHA256 != "" {
		set(spec, "sha256", text(o.SHA256))
	}
	if o.PullSecret != "" {
		set(spec, "imagePullSecret", text(o.PullSecret))
	}
	set(spec, "phase", text("AUTHZ"))
	comment(spec, "phase", "After authentication, so that limits can go by verified claims, and before\nauthorization.")
	set(spec, "pluginName", text("sluice"))
	set(spec, "failStrategy", text("FAIL_RELOAD"))
	comment(spec, "failStrategy", "A virtual machine that died is started anew.")
	if o.Mode == Sidecar {
		set(spec, "match", list(flow(object("mode", "SERVER"))))
		comment(spec, "match", "Requests that come in only: else those that go out would be counted too.")
	}
	if names := variables(p, o); len(names) > 0 {
		env := list()
		for _, n := range names {
			env.Content = append(env.Content, flow(object("name", n, "valueFrom", "HOST")))
		}
		set(spec, "vmConfig", object("env", env))
		comment(spec, "vmConfig", "From the proxy's own environment.")
	}
	set(spec, "pluginConfig", values)
	return object("apiVersion", "extensions.istio.io/v1alpha1", "kind", "WasmPlugin",
		"metadata", metadata("sluice", o), "spec", spec)
}

// podOptions is what the proxy's pods need besides: the password, authorities,
// and labels for metrics. Where a Gateway resource makes the pods, Istio takes it
// from a ConfigMap; elsewhere it belongs into a chart or a pod's annotations.
func podOptions(p *config.Policy, o *Options) *File {
	annotations := object("proxy.istio.io/config", literal("extraStatTags: ["+strings.Join(tagNames(), ", ")+"]\n"))
	comment(annotations, "proxy.istio.io/config", "Makes labels of the parts of the plugin's metric names.")
	set(annotations, "sidecar.istio.io/statsHistogramBuckets", text(istioBuckets()))
	comment(annotations, "sidecar.istio.io/statsHistogramBuckets", "Times in microseconds, as far apart as redis.timeout needs.")
	container := object("name", "istio-proxy")
	if o.PasswordSecret != "" {
		set(container, "env", list(secretVariable(p, o)))
	}
	pod := object()
	mountCA(o, container, pod)
	template := object("metadata", object("annotations", annotations))
	if len(container.Content) > 2 {
		pod.Content = append([]node{text("containers"), list(container)}, pod.Content...)
		set(template, "spec", pod)
	}
	if o.Mode == Sidecar || len(o.Selector) > 0 {
		words := "What the proxy's pods need besides. It can't be said from outside of them: put it\ninto the pod template of the Deployment (Istio merges a container of the name\nistio-proxy, with image: auto, into the one that it injects). They start anew.\n\n  kubectl patch deployment NAME -n " + o.Namespace + " --patch-file pods.yaml"
		if at(template, "spec") != nil && o.Mode == Sidecar {
			c := at(template, "spec", "containers", 0)
			c.Content = append(c.Content[:2:2], append([]node{text("image"), text("auto")}, c.Content[2:]...)...)
		}
		return &File{Name: "pods.yaml", patch: true, docs: []node{object("spec", object("template", template))}, head: wrap(words) + "\n\n"}
	}
	overlay, err := encode(object("spec", object("template", template)))
	if err != nil {
		return nil
	}
	name := "sluice-" + o.Gateway
	return &File{
		Name: "gateway-options.yaml",
		head: head("What the pods of the gateway need besides. Istio merges it into the Deployment\nthat it makes, once the Gateway names it; the pods then start anew.",
			"  kubectl apply -f gateway-options.yaml",
			"  kubectl patch gateway "+o.Gateway+" -n "+o.Namespace+" --type merge -p '"+`{"spec":{"infrastructure":{"parametersRef":{"group":"","kind":"ConfigMap","name":"`+name+`"}}}}`+"'"),
		docs: []node{object("apiVersion", "v1", "kind", "ConfigMap",
			"metadata", metadata(name, o), "data", object("deployment", literal(string(overlay))))},
	}
}

// secretVariable fills the password's variable from a Secret.
func secretVariable(p *config.Policy, o *Options) node {
	name, key := o.secret()
	return object("name", p.Redis.PasswordEnv, "valueFrom", flow(object(
		"secretKeyRef", flow(object("name", name, "key", key)))))
}

// mountCA mounts the authorities into a container, where they are an object.
func mountCA(o *Options, container, pod node) {
	if o.TLS == nil {
		return
	}
	kind, name, ok := o.TLS.mount()
	if !ok {
		return
	}
	const volume = "sluice-redis-ca"
	set(container, "volumeMounts", list(flow(object("name", volume, "mountPath", caFolder, "readOnly", boolean(true)))))
	from := object("name", volume)
	if kind == "secret" {
		set(from, "secret", flow(object("secretName", name)))
	} else {
		set(from, "configMap", flow(object("name", name)))
	}
	set(pod, "volumes", list(from))
}

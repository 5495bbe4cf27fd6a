package manifest

import "sluice/internal/config"

// higressFiles makes a WasmPlugin for Higress, which has Redis calls of its own
// and so needs no pipe.
func higressFiles(json []byte, p *config.Policy, o *Options) ([]File, error) {
	values, err := settings(json, p, o)
	if err != nil {
		return nil, err
	}
	spec := object()
	set(spec, "url", text(o.Image))
	if o.SHA256 != "" {
		set(spec, "sha256", text(o.SHA256))
	}
	if o.PullSecret != "" {
		set(spec, "imagePullSecret", text(o.PullSecret))
	}
	set(spec, "phase", text("AUTHZ"))
	comment(spec, "phase", "After authentication, so that limits can go by verified claims.")
	set(spec, "pluginName", text("sluice"))
	strategy := "FAIL_OPEN"
	if p.OnError == config.OnErrorDeny {
		strategy = "FAIL_CLOSE"
	}
	set(spec, "failStrategy", text(strategy))
	comment(spec, "failStrategy", "Should the plugin's virtual machine die: requests pass, or are refused where\non_error is deny.")
	if names := variables(p, o); len(names) > 0 {
		env := list()
		for _, n := range names {
			env.Content = append(env.Content, flow(object("name", n, "valueFrom", "HOST")))
		}
		set(spec, "vmConfig", object("env", env))
		comment(spec, "vmConfig", "From the gateway's own environment.")
	}
	set(spec, "defaultConfig", values)
	comment(spec, "defaultConfig", "For all routes. matchRules may hold another configuration for some ingresses,\ndomains or services.")
	doc := object("apiVersion", "extensions.higress.io/v1alpha1", "kind", "WasmPlugin",
		"metadata", metadata("sluice", o), "spec", spec)
	return []File{{Name: "wasmplugin.yaml", docs: []node{doc}, head: head(
		"The plugin with the limits of "+o.Source+", for Higress: the image has to be the\none built for it, which calls Higress's Redis client.",
		"  kubectl apply -f wasmplugin.yaml")}}, nil
}

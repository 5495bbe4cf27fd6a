package manifest

import (
	"bytes"
	"fmt"

	"github.com/tidwall/gjson"

	"sluice/internal/config"
	"sluice/internal/config/yamlconfig"
)

// File is one file of a deployment.
type File struct {
	Name string
	// Text is YAML: one Envoy configuration, or one Kubernetes object or more.
	Text []byte

	head string
	docs []node
	// patch says that it is no object to apply, but a patch of one.
	patch bool
}

// Make turns a sluice configuration into what the target takes. An error is
// RefusalErrors, when the configuration can't work there, or a *ConfigError, when it
// can't work anywhere.
func Make(source []byte, o Options) ([]File, error) {
	if o.Source == "" {
		o.Source = "the configuration"
	}
	doc, problem := yamlconfig.Convert(source)
	if problem != nil {
		return nil, &ConfigError{o.Source, []yamlconfig.Problem{*problem}}
	}
	policy, errs := config.Parse(doc.JSON)
	if len(errs) > 0 {
		return nil, &ConfigError{o.Source, doc.Locate(errs)}
	}
	o.linkGiven = gjson.GetBytes(doc.JSON, "redis.link").Exists()
	if r := refuse(policy, &o); len(r) > 0 {
		return nil, r
	}
	files, err := makers[o.Target](doc.JSON, policy, &o)
	if err != nil {
		return nil, err
	}
	for i := range files {
		f := &files[i]
		body, err := encode(f.docs...)
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", f.Name, err)
		}
		f.Text = append([]byte(f.head), body...)
	}
	return files, nil
}

var makers = map[Target]func([]byte, *config.Policy, *Options) ([]File, error){
	Envoy:        envoyFiles,
	Istio:        istioFiles,
	EnvoyGateway: envoyGatewayFiles,
	Higress:      higressFiles,
}

// Join writes files as one: Kubernetes reads several objects from one. What is no
// object of its own becomes a comment.
func Join(files []File) []byte {
	var b bytes.Buffer
	for i, f := range files {
		if i > 0 {
			b.WriteString("---\n")
		}
		if f.patch {
			b.WriteString(wrap(string(f.Text)) + "\n")
			continue
		}
		b.Write(f.Text)
	}
	return b.Bytes()
}

// head is the comment that a file begins with.
func head(words string, commands ...string) string {
	all := words + "\n"
	for _, c := range commands {
		all += "\n" + c
	}
	return wrap(all) + "\n\n"
}

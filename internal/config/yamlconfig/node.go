package yamlconfig

import "go.yaml.in/yaml/v3"

// ConvertNode turns a part of a YAML document into JSON, as Convert does with a
// whole one. Places are those of the document.
func ConvertNode(n *yaml.Node) (*Document, *Problem) {
	c := converter{doc: new(Document)}
	if p := c.node(n, 0); p != nil {
		return nil, p
	}
	c.doc.JSON = c.out
	return c.doc, nil
}

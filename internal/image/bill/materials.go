package bill

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// Subject is the program that a bill is of.
type Subject struct {
	Name    string
	Version string
	SHA256  string // of its file, hex; "" where it has several
	Licence string // SPDX
}

// Materials writes a program's bill of materials: CycloneDX, JSON. The same
// program gives the same bytes, so it holds no time and no serial number.
func Materials(s Subject, modules []Module) ([]byte, error) {
	main := cdx.Component{
		BOMRef: s.Name, Type: cdx.ComponentTypeApplication, Name: s.Name, Version: s.Version,
		Licenses: named([]string{s.Licence}),
	}
	if s.SHA256 != "" {
		main.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: s.SHA256}}
	}
	components := make([]cdx.Component, 0, len(modules))
	refs := make([]string, 0, len(modules))
	for _, m := range modules {
		c, err := component(m, s.Version)
		if err != nil {
			return nil, err
		}
		components = append(components, c)
		refs = append(refs, c.BOMRef)
	}
	b := cdx.NewBOM()
	b.SerialNumber = ""
	b.Metadata = &cdx.Metadata{Component: &main}
	b.Components = &components
	b.Dependencies = &[]cdx.Dependency{{Ref: s.Name, Dependencies: &refs}}
	var out bytes.Buffer
	e := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON)
	e.SetPretty(true)
	if err := e.EncodeVersion(b, cdx.SpecVersion1_6); err != nil {
		return nil, fmt.Errorf("write the bill of materials: %w", err)
	}
	return out.Bytes(), nil
}

func component(m Module, projectVersion string) (cdx.Component, error) {
	version := m.Version
	if version == "" {
		version = projectVersion
	}
	url := "pkg:golang/" + m.Path + "@" + strings.ReplaceAll(version, "+", "%2B")
	c := cdx.Component{
		BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: version, PackageURL: url,
		Licenses: named(m.Licences), Scope: cdx.ScopeRequired,
	}
	if m.Sum == "" {
		return c, nil
	}
	sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:"))
	if err != nil {
		return c, fmt.Errorf("the checksum of %s: %w", m.Path, err)
	}
	c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}}
	return c, nil
}

func named(ids []string) *cdx.Licenses {
	var list cdx.Licenses
	for _, id := range ids {
		list = append(list, cdx.LicenseChoice{License: &cdx.License{ID: id}})
	}
	return &list
}

package main

import (
	"testing"
)

func TestPackageOf(t *testing.T) {
	for name, want := range map[string]string{
		"runtime.gcStart":                                     "runtime",
		"sluice_internal_key.__Key_.Append":                   "sluice_internal_key",
		"slices.pdqsortOrdered_go.shape.int_":                 "slices",
		"github.com_tidwall_gjson.parseArray":                 "github.com_tidwall_gjson",
		"type_.eq.sluice_internal_config.Rate":                "type_",
		"slices.Insert_go.shape.__sluice_internal_limit.hits": "slices",
		"": "",
	} {
		if got := packageOf(name); got != want {
			t.Errorf("%q is of %q, want %q", name, got, want)
		}
	}
}

package protostruct

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

func message(t testing.TB, text string) []byte {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	s, err := structpb.NewStruct(m)
	if err != nil {
		t.Fatal(err)
	}
	b, err := proto.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestStructBecomesTheSameJSON(t *testing.T) {
	for _, text := range []string{
		`{}`,
		`{"limits":[{"name":"a","rate":"5/min","match":{"path":"/a"}},{"name":"b","rate":["1/s","10/min"]}]}`,
		`{"n":1,"big":9007199254740991,"f":1.5,"neg":-3,"huge":1e300,"t":true,"f2":false,"z":null,"empty":[],"o":{}}`,
		"{\"text\":\"quote \\\" back \\\\ tab \\t nul \\u0000 é 世\"}",
	} {
		got, err := AppendJSON(nil, message(t, text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var want, have any
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(got, &have); err != nil {
			t.Fatalf("%s became %s: %v", text, got, err)
		}
		if d := cmp.Diff(want, have); d != "" {
			t.Errorf("%s:\n%s", text, d)
		}
	}
}

func TestDepthIsBounded(t *testing.T) {
	v := structpb.NewStringValue("x")
	for range 100 {
		v = structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{v}})
	}
	b, err := proto.Marshal(&structpb.Struct{Fields: map[string]*structpb.Value{"a": v}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := AppendJSON(nil, b); err != errDeep {
		t.Errorf("got %v, want %v", err, errDeep)
	}
}

// Whatever comes, it is refused or, where the real decoder takes it, it is JSON;
// nothing panics.
func FuzzAppendJSON(f *testing.F) {
	f.Add([]byte(nil))
	f.Add([]byte(`{"limits":[]}`))
	f.Add(message(f, `{"a":[1,2,{"b":"c"}],"d":null}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := AppendJSON(nil, b)
		if err != nil {
			return
		}
		var s structpb.Struct
		if proto.Unmarshal(b, &s) == nil && !json.Valid(got) {
			t.Errorf("%x became %q", b, got)
		}
	})
}

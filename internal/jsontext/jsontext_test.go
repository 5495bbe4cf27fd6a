package jsontext

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// alike compares a value with what another reader makes of the same text.
func alike(t *testing.T, text string, v *Value, want gjson.Result) {
	t.Helper()
	kind := map[gjson.Type]Kind{gjson.Null: Null, gjson.False: False, gjson.True: True, gjson.Number: Number, gjson.String: String}[want.Type]
	switch {
	case want.IsArray():
		kind = List
	case want.IsObject():
		kind = Object
	}
	if v.Kind != kind || v.Text() != want.Str || v.Offset != want.Index || v.Raw != strings.TrimRight(want.Raw, " \t\r\n") {
		t.Fatalf("%q: %+v, want %+v", text, v, want)
	}
	if kind == Number && v.Float() != want.Num {
		t.Fatalf("%q: %s is %v, want %v", text, v.Raw, v.Float(), want.Num)
	}
	c := v.Items()
	if kind != List && kind != Object {
		if c.Next() {
			t.Fatalf("%q: %s has an item", text, v.Raw)
		}
		return
	}
	n := 0
	want.ForEach(func(key, item gjson.Result) bool {
		n++
		if !c.Next() {
			t.Fatalf("%q: only %d in %s", text, n-1, v.Raw)
		}
		if kind == Object && (c.Key.Text() != key.Str || c.Key.Raw != key.Raw || c.Key.Offset != key.Index) {
			t.Fatalf("%q: the field %+v, want %+v", text, c.Key, key)
		}
		item2 := c.Item
		alike(t, text, &item2, item)
		return true
	})
	for range 2 { // the end stays the end
		if c.Next() {
			t.Fatalf("%q: more than %d in %s", text, n, v.Raw)
		}
	}
}

// decoded is a value as encoding/json decodes it.
func decoded(t *testing.T, v *Value) any {
	switch v.Kind {
	case Null:
		return nil
	case True, False:
		return v.Kind == True
	case Number:
		return v.Float()
	case String:
		return v.Text()
	}
	list, object := []any{}, map[string]any{}
	for c := v.Items(); c.Next(); {
		list = append(list, decoded(t, &c.Item))
		if v.Kind == Object {
			object[c.Key.Text()] = list[len(list)-1]
		}
	}
	if v.Kind == List {
		return list
	}
	for name, want := range object {
		// Fields given twice are looked up as the first; those are left out here.
		if strings.Count(v.Raw, `"`) == 2*len(object) {
			if got := v.Get(name); got.Kind != String && asJSON(t, decoded(t, got)) != asJSON(t, want) {
				t.Fatalf("%s: field %q is %s", v.Raw, name, got.Raw)
			}
		}
	}
	return object
}

func asJSON(t *testing.T, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// check compares what is read of a text with what two other readers make of it, where
// it is JSON; of any text it wants only that reading ends within it.
func check(t *testing.T, text string) {
	t.Helper()
	v := Parse(text)
	inside(t, text, &v, 0)
	if !json.Valid([]byte(text)) || !utf8.ValidString(text) {
		return
	}
	var want any
	if json.Unmarshal([]byte(text), &want) != nil {
		return // a number beyond doubles
	}
	alike(t, text, &v, gjson.Parse(text))
	if got := asJSON(t, decoded(t, &v)); got != asJSON(t, want) {
		t.Fatalf("%q is %s, want %s", text, got, asJSON(t, want))
	}
}

func inside(t *testing.T, text string, v *Value, depth int) {
	if v.Offset < 0 || v.Offset+len(v.Raw) > len(text) || text[v.Offset:v.Offset+len(v.Raw)] != v.Raw || v.Exists() != (v.Raw != "") {
		t.Fatalf("%q: %+v", text, v)
	}
	v.Text()
	v.Float()
	v.Whole()
	if depth > 50 {
		return
	}
	c := v.Items()
	for c.Next() {
		inside(t, text, &c.Key, depth+1)
		inside(t, text, &c.Item, depth+1)
	}
}

// generate writes some JSON.
func generate(r *rand.Rand, depth int) string {
	space := func() string { return []string{"", "", "", " ", "\n\t", "\r\n "}[r.IntN(6)] }
	pick := func(all ...string) string { return all[r.IntN(len(all))] }
	quoted := func() string {
		out := `"`
		for range r.IntN(5) {
			out += pick("a", "b", "path", "é", "😀", "{", "}", "[", "]", ",", ":", " ", `\"`, `\\`, `\/`, `\b`, `\f`, `\n`, `\r`, `\t`, `\u0041`,
				`\u00E9`, `\u00e9`, `\ud83d\ude00`, `\uD83D`, `\uDE00`, `\ud83d\u0041`, `\ud83d\ud83d\ude00`, `\ud83dx`, `\u0000`, `\uffff`)
		}
		return out + `"`
	}
	out := ""
	switch n := r.IntN(10); {
	case n < 2:
		out = quoted()
	case n < 4:
		out = pick("0", "-0", "1", "17", "-3", "1e3", "1.50", "0.1", "-2.5E-3", "1E+2", "9007199254740993", "123456789012345678901234567890", "1e-400", "0.0001")
	case n < 6:
		out = pick("true", "false", "null")
	case depth == 0:
		out = pick("{}", "[]", "[ ]", "{\n}")
	case n < 8:
		for i := range r.IntN(4) {
			if i > 0 {
				out += ","
			}
			out += generate(r, depth-1)
		}
		out = "[" + out + space() + "]"
	default:
		for i := range r.IntN(4) {
			if i > 0 {
				out += ","
			}
			out += space() + quoted() + space() + ":" + generate(r, depth-1)
		}
		out = "{" + out + space() + "}"
	}
	return space() + out + space()
}

func TestAsOtherReaders(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		check(t, generate(r, 4))
	}
}

// Texts that are broken anywhere are read to some end.
func TestBroken(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 5_000 {
		text := []byte(generate(r, 3))
		for range 1 + r.IntN(3) {
			if len(text) == 0 {
				break
			}
			switch i := r.IntN(len(text)); r.IntN(3) {
			case 0:
				text = text[:i]
			case 1:
				text = append(text[:i:i], text[i+1:]...)
			default:
				text[i] = `{}[]",:\u0e-`[r.IntN(12)]
			}
		}
		check(t, string(text))
	}
}

func TestAbsent(t *testing.T) {
	v := Parse(`  {"a": {"b": null, "c": 1, "c": 2}}`)
	a := v.Get("a")
	if b := a.Get("b"); b.Kind != Null || !b.Exists() || b.Offset != 14 {
		t.Errorf("b is %+v", b)
	}
	if c := a.Get("c"); c.Raw != "1" {
		t.Errorf("c is %+v", c)
	}
	if d := a.Get("d"); d.Exists() || d.Offset != a.Offset || d.Text() != "" {
		t.Errorf("d is %+v", d)
	}
	if e := a.Get("c").Get("e"); e.Exists() {
		t.Errorf("e is %+v", e)
	}
	for _, text := range []string{"", " ", "]", "}", ","} {
		if v := Parse(text); v.Exists() {
			t.Errorf("%q is %+v", text, v)
		}
	}
}

func FuzzParse(f *testing.F) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 50 {
		f.Add(generate(r, 3))
	}
	for _, text := range []string{`"`, `"\`, `"\u12`, `{"a"`, `{"a":`, `{"a":}`, `[1`, `[[[`, `{]}`, "\x00", `{"a":1,}`, `[,]`} {
		f.Add(text)
	}
	f.Fuzz(check)
}

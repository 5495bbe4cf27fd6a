package lua

import "testing"

func TestBytewise(t *testing.T) {
	for line, want := range map[string]string{
		"x=char($bytes3(n),0)":          "x=char(n/65536,n/256%256,n%256,0)",
		"local $vars2(a),$vars1(b)=f()": "local a1,a2,b1=f()",
		"y=z-$num3(q)*2":                "y=z-((q1*256+q2)*256+q3)*2",
		"match(s,'^(%d+)$')":            "match(s,'^(%d+)$')",
	} {
		if got := bytewise(line); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

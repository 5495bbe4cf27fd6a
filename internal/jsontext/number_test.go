package jsontext

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// sameFloat compares the double that a number is with the standard library's.
func sameFloat(t *testing.T, text string) {
	t.Helper()
	v := Value{Kind: Number, Raw: text}
	want, _ := strconv.ParseFloat(text, 64) // ±Inf for one beyond doubles
	if got := v.Float(); got != want || math.Signbit(got) != math.Signbit(want) && want != 0 {
		t.Fatalf("%s is %v (%x), want %v (%x)", text, got, math.Float64bits(got), want, math.Float64bits(want))
	}
	whole, ok := int64(want), want == math.Trunc(want) && math.Abs(want) <= MaxWhole
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		whole, ok = n, n >= -MaxWhole && n <= MaxWhole
	}
	if !ok {
		whole = 0
	}
	if n, isWhole := v.Whole(); n != whole || isWhole != ok {
		t.Fatalf("%s is the integer %d, %v, want %d, %v", text, n, isWhole, whole, ok)
	}
}

func TestNumbers(t *testing.T) {
	for _, text := range []string{
		"0", "-0", "0.0", "0e5", "0.000e-999999999999999999999", "1", "-1", "10", "1000", "1e3", "1000.0", "1.5", "-1.50", "1e-3",
		"9007199254740991", "9007199254740992", "9007199254740993", "-9007199254740992", "-9007199254740993", "9007199254740993.0", "9007199254740992.5",
		"9223372036854775807", "9223372036854775808", "18446744073709551616", "123456789012345678901234567890",
		"1.00000000000000000001", "1e22", "1e23", "1e-22", "1e-23", "123456789012345e22", "1234567890123456e22",
		// Halfway between two doubles, and a little beside.
		"9007199254740993e0", "9007199254740995e0", "1.00000000000000011102230246251565404", "1.00000000000000011102230246251565403", "1.00000000000000011102230246251565405",
		"1" + strings.Repeat("0", 400), "0." + strings.Repeat("0", 400) + "1", "9007199254740993." + strings.Repeat("0", 900) + "1", "9007199254740993." + strings.Repeat("0", 900),
		strings.Repeat("1", 2000) + "e-1990", "0." + strings.Repeat("0", 2000) + "1e2000",
		// The ends of what doubles are.
		"1.7976931348623157e308", "1.7976931348623158e308", "1.7976931348623159e308", "1.797693134862315807e308", "1e309", "-1e309", "1e999999999999999999999",
		"4.9406564584124654e-324", "2.4703282292062327e-324", "2.4703282292062328e-324", "2.470328229206232720e-324", "1e-323", "1e-324", "1e-400", "-1e-400",
		"2.2250738585072014e-308", "2.2250738585072011e-308", "2.225073858507201136057409796709131975934819546351645648023426109724822222021076945516529523908135087914149158913039621106870086438694594645527657207407820621743379988141063267329253552286881372149012981122451451889849057222307285255133155755015914397476397983411801999323962548289017107081850690630666655994938275772572015763062690663332647565300009245888316433037779791869612049497390377829704905051080609940730262937128958950003583799967207254304360284078895771796150945516748243471030702609144621572289880258182545180325707018860872113128079512233426288368622321503775666622503982534335974568884423900265498198385487948292206894721689831099698365846814022854243330660339850886445804001034933970427567186443383770486037861622771738545623065874679014086723327636718751234567890123456789012345678901e-308",
	} {
		sameFloat(t, text)
		if !json.Valid([]byte(text)) {
			t.Errorf("%s isn't JSON", text)
		}
	}
	// The standard library takes this for 0: it forgets where a long integer's point is.
	if v := Parse("1" + strings.Repeat("0", 2000) + "e-2000"); v.Float() != 1 {
		t.Errorf("1 is %v", v.Float())
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		// Doubles of all sizes, written as short as possible, with too many digits, and cut.
		f := math.Float64frombits(r.Uint64())
		if math.IsNaN(f) || math.IsInf(f, 0) {
			continue
		}
		sameFloat(t, strconv.FormatFloat(f, 'e', -1, 64))
		sameFloat(t, strconv.FormatFloat(f, 'e', r.IntN(25), 64))
		small := float64(r.Int64N(1<<60)) / float64(int64(1)<<r.IntN(60))
		sameFloat(t, strconv.FormatFloat(small, 'f', -1, 64))
		sameFloat(t, strconv.FormatFloat(small, 'f', r.IntN(5), 64))
		sameFloat(t, strconv.FormatInt(r.Int64()>>r.IntN(63), 10))
	}
	for range 300 {
		// Exactly halfway between two doubles, then a digit more.
		f := math.Abs(math.Float64frombits(r.Uint64()))
		if math.IsNaN(f) || f > 1e300 || f < 1e-290 {
			continue
		}
		text := halfway(f)
		sameFloat(t, text)
		sameFloat(t, strings.Replace(text, "e", "1e", 1))
	}
}

// halfway is the middle between f and the next double, exactly.
func halfway(f float64) string {
	frac, exp := math.Frexp(f)
	u := uint64(frac*(1<<53))*2 + 1 // with exp-54: f and half a step
	// As digits: u · 2^(exp-54), by halving and doubling texts of digits.
	d := decimal{}
	d.read(strconv.FormatUint(u, 10))
	for e := exp - 54; e != 0; {
		if e > 0 {
			d.multiply(1)
			e--
		} else {
			d.divide(1)
			e++
		}
	}
	out := "0."
	for _, c := range d.digits {
		out += string(rune('0' + c))
	}
	return out + "e" + strconv.Itoa(d.point)
}

func TestNoNumbers(t *testing.T) {
	for _, text := range []string{"-", "x", "-x", "1x", "1.2.3", "1e", "1e+", "1e5x", "0x10", "1_000", "NaN", "Inf", ".", "e5"} {
		v := Value{Kind: Number, Raw: text}
		if n, ok := v.Whole(); ok || n != 0 || v.Float() != 0 {
			t.Errorf("%s is %d, %v, %v", text, n, ok, v.Float())
		}
	}
	for _, v := range []Value{{}, {Kind: String, Raw: `"1"`}, {Kind: True, Raw: "true"}} {
		if _, ok := v.Whole(); ok || v.Float() != 0 {
			t.Errorf("%s is a number", v.Raw)
		}
	}
}

func FuzzNumber(f *testing.F) {
	f.Add("1.5e3")
	f.Add("9007199254740993")
	f.Add("2.2250738585072011e-308")
	f.Fuzz(func(t *testing.T, text string) {
		var n json.Number
		if len(text) < 5000 && json.Unmarshal([]byte(text), &n) == nil && text == n.String() && text != "" {
			sameFloat(t, text)
		}
	})
}

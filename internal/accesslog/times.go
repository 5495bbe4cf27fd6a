package accesslog

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// timeReader reads a time: microseconds since the epoch.
type timeReader func(s string) (int64, bool)

// maxTime bounds the times that a log may hold: 2100. The scripts count to 2112.
const maxTime = 4_102_444_800_000_000

func inRange(us int64) (int64, bool) { return us, us >= 0 && us < maxTime }

// commonTime reads 10/Oct/2000:13:55:36 -0700.
func commonTime(s string) (int64, bool) {
	if len(s) < 20 || s[2] != '/' || s[6] != '/' || s[11] != ':' || s[14] != ':' || s[17] != ':' {
		return 0, false
	}
	day, ok1 := digits(s[0:2])
	month := monthOf(s[3:6])
	year, ok2 := digits(s[7:11])
	h, ok3 := digits(s[12:14])
	m, ok4 := digits(s[15:17])
	sec, ok5 := digits(s[18:20])
	if !(ok1 && ok2 && ok3 && ok4 && ok5) {
		return 0, false
	}
	offset := 0
	if rest := strings.TrimSpace(s[20:]); rest != "" {
		var ok bool
		if offset, ok = zoneOffset(rest); !ok {
			return 0, false
		}
	}
	return civil(year, month, day, h, m, sec, 0, offset)
}

// isoTime reads RFC 3339 and its relatives: a space for the T, a comma for the
// point, no colon in the zone, and no zone, which is UTC.
func isoTime(s string) (int64, bool) {
	if len(s) < 19 || s[4] != '-' || s[7] != '-' || s[10] != 'T' && s[10] != ' ' || s[13] != ':' || s[16] != ':' {
		return 0, false
	}
	year, ok1 := digits(s[0:4])
	month, ok2 := digits(s[5:7])
	day, ok3 := digits(s[8:10])
	h, ok4 := digits(s[11:13])
	m, ok5 := digits(s[14:16])
	sec, ok6 := digits(s[17:19])
	if !(ok1 && ok2 && ok3 && ok4 && ok5 && ok6) {
		return 0, false
	}
	rest, us := s[19:], 0
	if rest != "" && (rest[0] == '.' || rest[0] == ',') {
		i := 1
		for i < len(rest) && '0' <= rest[i] && rest[i] <= '9' {
			i++
		}
		us = fraction(rest[1:i])
		rest = rest[i:]
	}
	offset := 0
	if rest = strings.TrimSpace(rest); rest != "" {
		var ok bool
		if offset, ok = zoneOffset(rest); !ok {
			return 0, false
		}
	}
	return civil(year, time.Month(month), day, h, m, sec, us, offset)
}

// unixTime reads seconds since the epoch, with or without a fraction.
func unixTime(s string) (int64, bool) {
	whole, frac, _ := strings.Cut(s, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		// A JSON number may have an exponent.
		x, err := strconv.ParseFloat(s, 64)
		if err != nil || !(x >= 0 && x < maxTime/1e6) {
			return 0, false
		}
		return inRange(int64(math.Round(x * 1e6)))
	}
	if n < 0 || n > maxTime/1_000_000 {
		return 0, false
	}
	for i := 0; i < len(frac); i++ {
		if frac[i] < '0' || frac[i] > '9' {
			x, err := strconv.ParseFloat(s, 64)
			if err != nil || !(x >= 0 && x < maxTime/1e6) {
				return 0, false
			}
			return inRange(int64(math.Round(x * 1e6)))
		}
	}
	return inRange(n*1_000_000 + int64(fraction(frac)))
}

// anyTime reads what a JSON log may hold: a text, or a number of seconds,
// milliseconds, microseconds or nanoseconds, told apart by its size.
func anyTime(s string) (int64, bool) {
	if s == "" {
		return 0, false
	}
	if c := s[0]; c < '0' || c > '9' {
		return 0, false
	}
	if us, ok := isoTime(s); ok {
		return us, true
	}
	if us, ok := commonTime(s); ok {
		return us, true
	}
	whole, _, _ := strings.Cut(s, ".")
	if n, err := strconv.ParseInt(whole, 10, 64); err == nil {
		switch {
		case n >= 1e17:
			return inRange(n / 1000)
		case n >= 1e14:
			return inRange(n)
		case n >= 1e11:
			return inRange(n * 1000)
		}
	}
	return unixTime(s)
}

// layoutTime reads what a strftime layout of Envoy's writes; "" for its default.
func layoutTime(layout string) (timeReader, uint8, error) {
	switch strings.TrimSpace(layout) {
	case "":
		return isoTime, fine, nil
	case "%s":
		return unixTime, wholeSeconds, nil
	}
	if strings.HasPrefix(layout, "%s.%") && strings.HasSuffix(layout, "f") {
		return unixTime, fine, nil
	}
	rank := wholeSeconds
	var parts []string // a conversion's letter, or fixed text behind a blank
	for rest := layout; rest != ""; {
		i := strings.IndexByte(rest, '%')
		if i < 0 {
			parts = append(parts, " "+rest)
			break
		}
		if i > 0 {
			parts = append(parts, " "+rest[:i])
		}
		rest = rest[i+1:]
		for rest != "" && ('0' <= rest[0] && rest[0] <= '9' || rest[0] == 'E') {
			rest = rest[1:]
		}
		if rest == "" || !strings.Contains("YmdeHMSfsbBzZTFDyajp%", rest[:1]) {
			return nil, 0, FormatError("the time's layout " + strconv.Quote(layout) + " holds a conversion that isn't known here")
		}
		switch rest[0] {
		case 'f':
			rank = fine
			parts = append(parts, "f")
		case 'T':
			parts = append(parts, "H", " :", "M", " :", "S")
		case 'F':
			parts = append(parts, "Y", " -", "m", " -", "d")
		case 'D':
			parts = append(parts, "m", " /", "d", " /", "y")
		case '%':
			parts = append(parts, " %")
		default:
			parts = append(parts, rest[:1])
		}
		rest = rest[1:]
	}
	return func(s string) (int64, bool) { return readLayout(parts, s) }, rank, nil
}

// readLayout reads a time by the parts of its layout.
func readLayout(parts []string, s string) (int64, bool) {
	year, month, day, h, m, sec, us, offset := 1970, time.January, 1, 0, 0, 0, 0, 0
	take := func(most int) (int, bool) {
		i := 0
		for i < len(s) && i < most && (s[i] >= '0' && s[i] <= '9' || i == 0 && s[i] == ' ' && most == 2) {
			i++
		}
		n, ok := digits(strings.TrimSpace(s[:i]))
		s = s[i:]
		return n, ok
	}
	for _, p := range parts {
		ok := true
		switch p[0] {
		case ' ':
			s, ok = strings.CutPrefix(s, p[1:])
		case 'Y':
			year, ok = take(4)
		case 'y':
			year, ok = take(2)
			year += 2000
		case 'm':
			var n int
			n, ok = take(2)
			month = time.Month(n)
		case 'd', 'e':
			day, ok = take(2)
		case 'H':
			h, ok = take(2)
		case 'M':
			m, ok = take(2)
		case 'S':
			sec, ok = take(2)
			if !slices.Contains(parts, "f") && strings.HasPrefix(s, ".") && len(s) > 1 && s[1] >= '0' && s[1] <= '9' {
				i := 1
				for i < len(s) && '0' <= s[i] && s[i] <= '9' {
					i++
				}
				us, s = fraction(s[1:i]), s[i:]
			}
		case 'f':
			i := 0
			for i < len(s) && '0' <= s[i] && s[i] <= '9' {
				i++
			}
			us, s, ok = fraction(s[:i]), s[i:], i > 0
		case 's':
			i := 0
			for i < len(s) && ('0' <= s[i] && s[i] <= '9' || s[i] == '.') {
				i++
			}
			return unixTime(s[:i])
		case 'b', 'B':
			if ok = len(s) >= 3; ok {
				month = monthOf(s[:3])
				i := 3
				for p[0] == 'B' && i < len(s) && 'a' <= s[i] && s[i] <= 'z' {
					i++
				}
				s = s[i:]
			}
		case 'z':
			i := strings.IndexByte(s+" ", ' ')
			offset, ok = zoneOffset(s[:i])
			s = s[i:]
		default: // a word that the rest says anew: zone names, week days
			i := 0
			for i < len(s) && (s[i] >= 'A' && s[i] <= 'Z' || s[i] >= 'a' && s[i] <= 'z') {
				i++
			}
			s = s[i:]
		}
		if !ok {
			return 0, false
		}
	}
	return civil(year, month, day, h, m, sec, us, offset)
}

// civil turns a date, and the seconds that its zone is ahead of UTC, into
// microseconds since the epoch.
func civil(year int, month time.Month, day, h, m, sec, us, offset int) (int64, bool) {
	if month < 1 || month > 12 || day < 1 || day > 31 || h > 24 || m > 59 || sec > 60 || year < 1970 || year > 2099 {
		return 0, false
	}
	// Days since the epoch, with years that begin in March.
	y, mo := year, int(month)
	if mo <= 2 {
		y, mo = y-1, mo+12
	}
	days := 365*y + y/4 - y/100 + y/400 + (153*(mo-3)+2)/5 + day - 719_469
	return inRange((int64(days)*86_400+int64(h*3600+m*60+sec-offset))*1_000_000 + int64(us))
}

func digits(s string) (n int, ok bool) {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n, s != "" && len(s) <= 9
}

// fraction is the digits behind a point as microseconds.
func fraction(s string) (us int) {
	for i := range 6 {
		us *= 10
		if i < len(s) {
			us += int(s[i] - '0')
		}
	}
	return us
}

// zoneOffset reads Z, +01:00 and -0700: seconds ahead of UTC.
func zoneOffset(s string) (int, bool) {
	switch s {
	case "Z", "z", "UTC", "GMT":
		return 0, true
	}
	if len(s) != 5 && (len(s) != 6 || s[3] != ':') || s[0] != '+' && s[0] != '-' {
		return 0, false
	}
	h, ok1 := digits(s[1:3])
	m, ok2 := digits(s[len(s)-2:])
	if !ok1 || !ok2 || h > 15 || m > 59 {
		return 0, false
	}
	if s[0] == '-' {
		return -(h*3600 + m*60), true
	}
	return h*3600 + m*60, true
}

func monthOf(s string) time.Month {
	const names = "JanFebMarAprMayJunJulAugSepOctNovDec"
	if i := strings.Index(names, s); i >= 0 && i%3 == 0 && len(s) == 3 {
		return time.Month(i/3 + 1)
	}
	return 0
}

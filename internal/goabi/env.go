package goabi

// lookup finds a variable's value among NAME=value texts with a zero byte behind
// each.
func lookup(all, name string) (string, bool) {
	for all != "" {
		n := 0
		for n < len(all) && all[n] != 0 {
			n++
		}
		v := all[:n]
		if len(v) > len(name) && v[len(name)] == '=' && v[:len(name)] == name {
			return v[len(name)+1:], true
		}
		all = all[min(n+1, len(all)):]
	}
	return "", false
}

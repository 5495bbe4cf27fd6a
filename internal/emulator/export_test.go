package emulator

// HostCallNames lists every host call that a stock Envoy offers.
func HostCallNames() []string {
	var names []string
	for _, c := range hostCalls[1:] {
		if !higressOnly(c.name) {
			names = append(names, c.name)
		}
	}
	return names
}

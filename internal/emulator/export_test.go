package emulator

// HostCallNames lists every host call that is offered.
func HostCallNames() []string {
	var names []string
	for _, c := range hostCalls[1:] {
		names = append(names, c.name)
	}
	return names
}

package config

// Counter is what stands for the limit in the names of the rate's counters: the
// limit's name, followed by the window where the limit has several.
func (r *Rate) Counter() string { return r.counter }

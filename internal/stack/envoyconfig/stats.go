package envoyconfig

// StatsEvery sets how often Envoy brings its histograms up to date, such as 1s;
// its default is 5s. Counters are always up to date.
func (c *Config) StatsEvery(interval string) { c.root["stats_flush_interval"] = interval }

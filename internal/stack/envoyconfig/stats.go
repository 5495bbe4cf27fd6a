package envoyconfig

// StatsConfig is the bootstrap's stats_config; nil where there is none.
func (c *Config) StatsConfig() any { return c.root["stats_config"] }

// SetStatsConfig changes the bootstrap's stats_config; nil removes it.
func (c *Config) SetStatsConfig(v any) {
	if v == nil {
		delete(c.root, "stats_config")
		return
	}
	c.root["stats_config"] = v
}

// StatsEvery sets how often Envoy brings its histograms up to date, such as 1s;
// its default is 5s. Counters are always up to date.
func (c *Config) StatsEvery(interval string) { c.root["stats_flush_interval"] = interval }

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

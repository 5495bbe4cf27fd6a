package lua

import _ "embed" // as texts: an embed.FS would bring the standard library's files and dates into the module

var (
	//go:embed bucket.lua
	bucketFile string
	//go:embed calendar.lua
	calendarFile string
	//go:embed call.lua
	callFile string
	//go:embed clock.lua
	clockFile string
	//go:embed concurrency.lua
	concurrencyFile string
	//go:embed driver.lua
	driverFile string
	//go:embed fixed_window.lua
	fixedWindowFile string
	//go:embed general.lua
	generalFile string
	//go:embed leaky_bucket.lua
	leakyBucketFile string
	//go:embed members.lua
	membersFile string
	//go:embed penalty.lua
	penaltyFile string
	//go:embed period.lua
	periodFile string
	//go:embed pool.lua
	poolFile string
	//go:embed shared.lua
	sharedFile string
	//go:embed short.lua
	shortFile string
	//go:embed sliding_counter.lua
	slidingCounterFile string
	//go:embed sliding_log.lua
	slidingLogFile string
	//go:embed sliding_log_zset.lua
	slidingLogZsetFile string
	//go:embed token_bucket.lua
	tokenBucketFile string
)

// files are the scripts' files by their names without the extension; a test
// looks for those that are missing.
var files = []struct {
	name string
	text *string
}{
	{"bucket", &bucketFile},
	{"calendar", &calendarFile},
	{"call", &callFile},
	{"clock", &clockFile},
	{"concurrency", &concurrencyFile},
	{"driver", &driverFile},
	{"fixed_window", &fixedWindowFile},
	{"general", &generalFile},
	{"leaky_bucket", &leakyBucketFile},
	{"members", &membersFile},
	{"penalty", &penaltyFile},
	{"period", &periodFile},
	{"pool", &poolFile},
	{"shared", &sharedFile},
	{"short", &shortFile},
	{"sliding_counter", &slidingCounterFile},
	{"sliding_log", &slidingLogFile},
	{"sliding_log_zset", &slidingLogZsetFile},
	{"token_bucket", &tokenBucketFile},
}

// file is a file's text.
func file(name string) (text string, ok bool) {
	for _, f := range files {
		if f.name == name {
			return *f.text, true
		}
	}
	return "", false
}

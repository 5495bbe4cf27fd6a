package release

import (
	"fmt"
	"regexp"

	"sluice/internal/image/archive"
)

var versionLines = map[string]*regexp.Regexp{
	"version":    regexp.MustCompile(`(?m)^version: .*$`),
	"appVersion": regexp.MustCompile(`(?m)^appVersion: .*$`),
}

// Chart packs a Helm chart's files, which begin with the chart's name, with a
// version of its own and of what it installs. helm package would do the same, with
// the time in it.
func Chart(files []archive.File, version string) ([]byte, error) {
	done := false
	packed := make([]archive.File, len(files))
	for i, f := range files {
		if f.Name == "sluice/Chart.yaml" {
			for name, line := range versionLines {
				if len(line.FindAll(f.Content, -1)) != 1 {
					return nil, fmt.Errorf("%s doesn't name its %s once", f.Name, name)
				}
				f.Content = line.ReplaceAll(f.Content, []byte(name+`: "`+version+`"`))
			}
			done = true
		}
		packed[i] = f
	}
	if !done {
		return nil, fmt.Errorf("no Chart.yaml among %d files", len(files))
	}
	return archive.TarGzip(packed)
}

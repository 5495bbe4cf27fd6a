package docs

import "testing"

// Each page's commands run against what the page says to start.
func TestTutorial(t *testing.T) { newNewcomer(t).run(t, "docs/tutorial.md") }

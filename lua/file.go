package lua

// The scripts' texts are Go's own: with package embed came the standard library's
// files and dates, into a module that has none.

//go:generate go run ./gen

// file is a file's text.
func file(name string) (text string, ok bool) {
	for i := range files {
		if files[i].name == name {
			return files[i].text, true
		}
	}
	return "", false
}

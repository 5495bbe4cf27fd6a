// Package cookbook loads the recipes of testdata/cookbook and makes a page of
// them. A recipe is two files: NAME.yaml, a configuration as a user would write
// it, which begins with a comment that says what it is and who wants it, and
// NAME.test.yaml, requests and what becomes of each. The package's tests run
// every recipe on the compiled plugin with a real Redis.
package cookbook

//go:generate go run ./gen

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Places in the repository, from its root.
const (
	Dir  = "testdata/cookbook"
	Page = "docs/cookbook.md"
)

// Ends of the names of a recipe's two files.
const (
	configEnd = ".yaml"
	testEnd   = ".test.yaml"
)

// Recipe is one configuration with what it is for and what it does.
type Recipe struct {
	Name string // of its files
	// Title and Why are the comment that the configuration begins with: its
	// first line, and the paragraphs after it.
	Title string
	Why   []string
	// Text is the whole configuration, Body what follows the first comment.
	Text, Body string
	Test       Test
}

// Load reads all recipes of a folder, in the order of their names.
func Load(dir string) ([]Recipe, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	var recipes []Recipe
	for _, e := range entries {
		name, isConfig := strings.CutSuffix(e.Name(), configEnd)
		if test, isTest := strings.CutSuffix(e.Name(), testEnd); isTest {
			if _, err := os.Stat(filepath.Join(dir, test+configEnd)); err != nil {
				return nil, fmt.Errorf("%s tests nothing: %w", e.Name(), err)
			}
			continue
		}
		if !isConfig {
			return nil, fmt.Errorf("%s is neither NAME%s nor NAME%s", e.Name(), configEnd, testEnd)
		}
		r, err := load(dir, name)
		if err != nil {
			return nil, err
		}
		if names[r.Title] {
			return nil, fmt.Errorf("%s: there already is a recipe %q", e.Name(), r.Title)
		}
		names[r.Title] = true
		recipes = append(recipes, r)
	}
	return recipes, nil
}

func load(dir, name string) (Recipe, error) {
	r := Recipe{Name: name}
	text, err := os.ReadFile(filepath.Join(dir, name+configEnd))
	if err != nil {
		return r, err
	}
	r.Text = string(text)
	if err := r.readComment(); err != nil {
		return r, fmt.Errorf("%s%s: %w", name, configEnd, err)
	}
	steps, err := os.ReadFile(filepath.Join(dir, name+testEnd))
	if err != nil {
		return r, err
	}
	if err := r.Test.read(steps); err != nil {
		return r, fmt.Errorf("%s%s: %w", name, testEnd, err)
	}
	return r, nil
}

var errComment = errors.New("begins with no comment of a title, an empty line and who wants it why")

// readComment splits the text into its first comment and the rest.
func (r *Recipe) readComment() error {
	rest := r.Text
	var paragraphs []string
	paragraph := ""
	for strings.HasPrefix(rest, "#") {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		line = strings.TrimSpace(strings.TrimPrefix(line, "#"))
		if line == "" {
			paragraphs = append(paragraphs, paragraph)
			paragraph = ""
			continue
		}
		paragraph = strings.TrimSpace(paragraph + " " + line)
	}
	paragraphs = append(paragraphs, paragraph)
	if len(paragraphs) < 2 || paragraphs[0] == "" || paragraphs[1] == "" || strings.TrimSpace(rest) == "" {
		return errComment
	}
	r.Title, r.Why, r.Body = paragraphs[0], paragraphs[1:], rest
	return nil
}

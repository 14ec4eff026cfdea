package toolindex

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

var sample = []Tool{
	{Name: "notes_add", Description: "Add a note to the notebook.", Parameters: []Parameter{{"text", "what the note says"}}},
	{Name: "notes_list", Title: "Notes", Description: "List notes, newest first."},
	{Name: "changeArchive", Description: "Archive a finished change."},
	{Name: "git_log", Description: "Show commits of a branch.", Parameters: []Parameter{{"author", "authenticated name of the committer"}}},
	{Name: "時間", Description: "現在の時間を返す"},
	{Name: "web_fetch", Plugin: "browser reads pages", Description: "Download a page."},
	{Name: "page_add", Description: "Add a page, a page, a page."},
}

func TestSearch(t *testing.T) {
	x := New(sample)
	for query, want := range map[string][]string{
		"list all notes":      {"notes_list", "notes_add"},
		"archiving changes":   {"changeArchive"},
		"ARCHIVED":            {"changeArchive"},
		"note text":           {"notes_add", "notes_list"},
		"auth":                {"git_log"}, // the beginning of a word
		"time of authors":     {"git_log"},
		"website":             {"web_fetch"},             // a part of the word
		"load":                {"web_fetch"},             // the end of a word
		"browse":              {"web_fetch"},             // what the plugin is for
		"download pages":      {"web_fetch", "page_add"}, // of two words, both
		"時":                   {"時間"},
		"the of a":            nil,
		"":                    nil,
		"xylophone":           nil,
		"committing branches": {"git_log"},
	} {
		var got []string
		for _, i := range x.Search(query, 10) {
			got = append(got, sample[i].Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", query, got, want)
		}
	}
	if got := x.Search("notes", 1); len(got) != 1 || got[0] != 1 {
		t.Errorf("limit 1: got %v", got)
	}
}

// TestOrderDependsOnOwnToolsOnly checks that a tool which an index does not have changes no order: clients could infer that it exists.
func TestOrderDependsOnOwnToolsOnly(t *testing.T) {
	part := sample[:4]
	all := append(slices.Clone(part), Tool{Name: "hidden_notes", Description: strings.Repeat("list notes of a branch ", 9)})
	differs := false
	for _, query := range []string{"notes branch", "list commits and notes", "add a change"} {
		got := New(part).Search(query, 10)
		if again := New(slices.Clone(part)).Search(query, 10); !slices.Equal(got, again) {
			t.Errorf("%q: %v, then %v", query, got, again)
		}
		differs = differs || !slices.Equal(got, New(all).Search(query, 10))
	}
	if !differs {
		t.Error("the fifth tool changes nothing, so that this test shows nothing")
	}
}

func FuzzSearch(f *testing.F) {
	x := New(sample)
	for _, query := range []string{"", "notes", "listChanges", "時間 x", "\xff\xfe", strings.Repeat("a", 1000), strings.Repeat("word ", 1000)} {
		f.Add(query, 3)
	}
	f.Fuzz(func(t *testing.T, query string, limit int) {
		limit = min(max(limit, 0), 20)
		found := x.Search(query, limit)
		if len(found) > limit || !slices.Equal(found, x.Search(query, limit)) {
			t.Errorf("%q: %v", query, found)
		}
		words(query, func(word string) {
			if word == "" || len(word) > maxWord+8 || utf8.ValidString(query) && !utf8.ValidString(word) {
				t.Errorf("%q has the word %q", query, word)
			}
		})
	})
}

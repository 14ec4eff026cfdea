package item_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/item"
)

// TestNameCharacters tries all ASCII characters, and those beyond them that some systems treat as letters or digits.
func TestNameCharacters(t *testing.T) {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
	for c := rune(0); c <= 0x80; c++ {
		if got, want := item.CheckName("Prompt", string(c)) == nil, strings.ContainsRune(allowed, c); got != want {
			t.Errorf("%q: accepted %t", c, got)
		}
	}
	for _, c := range "ａ٣ß\u0130\u212a" {
		if item.CheckName("Prompt", string(c)) == nil {
			t.Errorf("%q was accepted", c)
		}
	}
}

func TestParseMIMEType(t *testing.T) {
	for sent, want := range map[string]string{
		"": "text/plain", " \t": "text/plain", " a/b\n": "a/b", strings.Repeat("é", 255): strings.Repeat("é", 255), " " + strings.Repeat("x", 255): strings.Repeat("x", 255),
	} {
		if got, err := item.ParseMIMEType(sent); got != want || err != nil {
			t.Errorf("%.10q: got %.10q, %v", sent, got, err)
		}
	}
	if _, err := item.ParseMIMEType(strings.Repeat("x", 256)); text(err) != "Resource MIME type exceeds maximum length of 255 characters" {
		t.Errorf("256 characters: got %v", err)
	}
}

func TestLengthsOfURIsAndDescriptions(t *testing.T) {
	for got, want := range map[error]string{
		item.CheckURI(""): "Resource URI cannot be empty",
		item.CheckURI("a:" + strings.Repeat("é", 2047)):                 "Resource URI exceeds maximum length of 2048 characters",
		item.CheckDescription(item.Prompt, strings.Repeat("é", 4097)):   "Prompt description exceeds maximum length of 4096 characters",
		item.CheckDescription(item.Resource, strings.Repeat("é", 4096)): "",
		item.CheckName(string(item.Resource), strings.Repeat("x", 256)): "Resource name exceeds maximum length of 255 characters",
	} {
		if text(got) != want {
			t.Errorf("got %q, want %q", text(got), want)
		}
	}
}

func TestResourceContent(t *testing.T) {
	for name, c := range map[string]struct {
		mimeType, sent string
		want           item.Content
		err            string
	}{
		"text":                {"text/x", "YQ==", item.Content{Bytes: []byte("YQ==")}, ""},
		"empty text":          {"text/x", "", item.Content{}, "Resource content cannot be empty"},
		"bytes":               {"a/b", "YQ==", item.Content{Bytes: []byte("a"), Binary: true}, ""},
		"no bytes":            {"a/b", "", item.Content{}, "Resource content cannot be empty"},
		"bytes of line ends":  {"a/b", "\r\n", item.Content{}, "Resource content cannot be empty"},
		"bytes in no base64":  {"a/b", "Y%", item.Content{}, "Resource content is not valid base64 for MIME type 'a/b'"},
		"bytes of another 64": {"a/b", "_-_-", item.Content{}, "Resource content is not valid base64 for MIME type 'a/b'"},
	} {
		got, err := item.ResourceContent(c.mimeType, c.sent)
		if diff := cmp.Diff(c.want, got); diff != "" || text(err) != c.err {
			t.Errorf("%s: got %v, %s", name, err, diff)
		}
	}
}

func TestDrafts(t *testing.T) {
	prompt, err := item.NewPrompt("n", "text", "d")
	want := item.Draft{Item: item.Item{Kind: item.Prompt, Name: "n", Description: "d"}, Content: item.Content{Bytes: []byte("text")}}
	if diff := cmp.Diff(want, prompt); diff != "" || err != nil {
		t.Errorf("%v, %s", err, diff)
	}
	read := func(mimeType string) (item.Content, error) { return item.ResourceContent(mimeType, "YQ==") }
	resource, err := item.NewResource("n", "a:b", " a/b ", "d", read)
	want = item.Draft{
		Item:    item.Item{Kind: item.Resource, Name: "n", Description: "d", URI: "a:b", MIMEType: "a/b", Binary: true},
		Content: item.Content{Bytes: []byte("a"), Binary: true},
	}
	if diff := cmp.Diff(want, resource); diff != "" || err != nil {
		t.Errorf("%v, %s", err, diff)
	}
	long := strings.Repeat("x", 5000)
	for name, make := range map[string]func() (item.Draft, error){
		"a prompt's name":          func() (item.Draft, error) { return item.NewPrompt("", "text", "") },
		"a prompt's content":       func() (item.Draft, error) { return item.NewPrompt("n", "", "") },
		"a prompt's description":   func() (item.Draft, error) { return item.NewPrompt("n", "text", long) },
		"a resource's name":        func() (item.Draft, error) { return item.NewResource("é", "a:b", "", "", read) },
		"a resource's URI":         func() (item.Draft, error) { return item.NewResource("n", "b", "", "", read) },
		"a resource's MIME type":   func() (item.Draft, error) { return item.NewResource("n", "a:b", long, "", read) },
		"a resource's description": func() (item.Draft, error) { return item.NewResource("n", "a:b", "", long, read) },
		"a resource's content": func() (item.Draft, error) {
			return item.NewResource("n", "a:b", "", "", func(string) (item.Content, error) { return item.TextResource("") })
		},
		"a resource's base64": func() (item.Draft, error) {
			return item.NewResource("n", "a:b", "a/b", "", func(string) (item.Content, error) { return item.BinaryResource("a/b", "%") })
		},
	} {
		if got, err := make(); err == nil || got.Name != "" {
			t.Errorf("%s is accepted: %+v", name, got)
		}
	}
	if item.Prompt.Word() != "prompt" || item.Resource.Word() != "resource" {
		t.Errorf("got %s, %s", item.Prompt.Word(), item.Resource.Word())
	}
}

package item_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/item"
)

// text returns the text of err; "" if err is nil.
func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestCheckName(t *testing.T) {
	for name, want := range map[string]string{
		"a": "", "A-Z_0.9": "", ".": "", "..": "", strings.Repeat("a", 255): "",
		"":                       "Project name cannot be empty",
		strings.Repeat("a", 256): "Project name exceeds maximum length of 255 characters",
		strings.Repeat("é", 256): "Project name exceeds maximum length of 255 characters",
		"é":                      "Project name 'é' contains invalid characters. Allowed: a-z, A-Z, 0-9, -, _, .",
		"a\n":                    "Project name 'a?' contains invalid characters. Allowed: a-z, A-Z, 0-9, -, _, .",
		"a\xff":                  "Project name 'a\ufffd' contains invalid characters. Allowed: a-z, A-Z, 0-9, -, _, .",
	} {
		if got := text(item.CheckName("Project", name)); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

func TestShow(t *testing.T) {
	for sent, want := range map[string]string{
		"as it is: 'é'": "as it is: 'é'", "a\r\nb\x00\x1b[1m\u0085": "a??b??[1m?", "\u2028\u2029\u202a": "??\u202a",
		strings.Repeat("é", 300): strings.Repeat("é", 300), strings.Repeat("é", 301): strings.Repeat("é", 300) + "…",
	} {
		if got := item.Show(sent); got != want {
			t.Errorf("%q: got %q, want %q", sent, got, want)
		}
	}
}

func TestCheckURI(t *testing.T) {
	for _, good := range []string{"file:///docs/api.md", "a:", "x+y-z.1:b?c#d", "note://ü/é", "A:b:c", "a:" + strings.Repeat("é", 2046)} {
		if err := item.CheckURI(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"a", "/a:b", ":b", "-a:b", "a_b:c", "a:\u00a0", "a:b\tc", "a:\x7f", "a:\xff"} {
		if got, want := text(item.CheckURI(bad)), "Resource URI '"+item.Show(bad)+"' is invalid"; got != want {
			t.Errorf("%q: got %q", bad, got)
		}
	}
}

func TestIsText(t *testing.T) {
	for mimeType, want := range map[string]bool{
		"text/plain": true, "Text/X": true, "text/": true, "text": false, "application/json": true, "application/json ; a=b": true,
		"application/x-ndjson": true, "application/rtf": true, "application/ld+json": true, "image/svg+xml": true, "a/b+yaml;c": true,
		"application/pdf": false, "application/jsonx": false, "image/png": false, "": false, "audio/x;text/plain": false,
	} {
		if got := item.IsText(mimeType); got != want {
			t.Errorf("IsText(%q) = %t", mimeType, got)
		}
	}
}

func TestSizeLimits(t *testing.T) {
	const mib = 1 << 20
	exactly := func(n int) string { return strings.Repeat("x", n) }
	for name, test := range map[string]struct {
		parse func() error
		want  string
	}{
		"a prompt":              {func() error { _, err := item.PromptContent(exactly(mib)); return err }, ""},
		"a prompt too large":    {func() error { _, err := item.PromptContent(exactly(mib + 1)); return err }, "Prompt content exceeds maximum size of 1 MiB"},
		"the worst prompt":      {func() error { _, err := item.PromptContent(strings.Repeat("\x00", mib)); return err }, ""},
		"a text":                {func() error { _, err := item.TextResource(exactly(4 * mib)); return err }, ""},
		"a text too large":      {func() error { _, err := item.TextResource(exactly(4*mib + 1)); return err }, "Resource content exceeds maximum size of 4 MiB"},
		"a text of line breaks": {func() error { _, err := item.TextResource(strings.Repeat("\n", 4*mib)); return err }, "Resource content exceeds maximum size of 7 MiB as a JSON string"},
		"bytes": {func() error {
			_, err := item.BinaryResource("x/y", base64.StdEncoding.EncodeToString(make([]byte, 4*mib)))
			return err
		}, ""},
		"bytes too large": {func() error {
			_, err := item.BinaryResource("x/y", base64.StdEncoding.EncodeToString(make([]byte, 4*mib+1)))
			return err
		}, "Resource content exceeds maximum size of 4 MiB"},
	} {
		if got := text(test.parse()); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

func FuzzJSONLen(f *testing.F) {
	f.Add("plain")
	f.Add("\"\\\n\r\t\b\f\x00\x1f\x7f\u2028\u2029\u202a é😀 <&>")
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			t.Skip("JSON strings are valid UTF-8")
		}
		var out bytes.Buffer
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(text); err != nil {
			t.Fatal(err)
		}
		if got, want := item.JSONLen(text), out.Len()-1; got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	})
}

func FuzzBinaryResource(f *testing.F) {
	f.Add([]byte("\x89PNG\r\n\x1a\n"), 3)
	f.Add([]byte{0}, 1)
	f.Fuzz(func(t *testing.T, content []byte, width int) {
		if len(content) == 0 || len(content) > 1<<16 || width < 1 {
			t.Skip("not a valid resource, or not a valid line width")
		}
		padded := base64.StdEncoding.EncodeToString(content)
		var broken strings.Builder
		for i := 0; i < len(padded); i += min(width, len(padded)) {
			broken.WriteString(padded[i:min(i+min(width, len(padded)), len(padded))] + "\r\n")
		}
		for _, sent := range []string{padded, strings.TrimRight(padded, "="), broken.String()} {
			got, err := item.BinaryResource("x/y", sent)
			if err != nil || !got.Binary || !bytes.Equal(got.Bytes, content) {
				t.Errorf("%q: got %q, %v", sent, got.Bytes, err)
			}
		}
	})
}

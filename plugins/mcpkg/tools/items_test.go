package tools_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEmptyStore(t *testing.T) {
	s := newServer(t)
	s.wantAnswer("prompts/list", "{}", `{"prompts":[]}`)
	s.wantAnswer("resources/list", "{}", `{"resources":[]}`)
	s.wantAnswer("resources/templates/list", "{}", `{"resourceTemplates":[]}`)
	s.wantAnswer("prompts/get", `{"name":"x"}`, `{"code":-32602,"message":"Prompt 'x' not found in project 'auth-module'"}`)
	s.wantAnswer("resources/read", `{"uri":"a:b"}`, `{"code":-32602,"message":"Resource 'a:b' not found in project 'auth-module'"}`)
	if found, err := os.ReadDir(s.state); err != nil || len(found) > 0 {
		t.Errorf("reading the store created the files %v, %v", found, err)
	}
}

func TestDuplicateName(t *testing.T) {
	s := newServer(t)
	s.want("create_prompt", `{"name":"test-prompt","content":"a"}`, "Created prompt 'test-prompt' in project 'auth-module'")
	s.want("create_prompt", `{"name":"test-prompt","content":"b"}`, "Error: Prompt 'test-prompt' already exists in project 'auth-module'")
	s.wantAnswer("prompts/get", `{"name":"test-prompt"}`, `{"messages":[{"role":"user","content":{"type":"text","text":"a"}}]}`)
}

func TestInvalidNames(t *testing.T) {
	s := newServer(t)
	for name, shown := range map[string]string{
		"test prompt": "test prompt", "a/b": "a/b", "é": "é", "a\n": "a?", "a\x00": "a?", "a\u2028b": "a?b",
		strings.Repeat("ä", 255): strings.Repeat("ä", 255),
	} {
		want := "name '" + shown + "' contains invalid characters. Allowed: a-z, A-Z, 0-9, -, _, ."
		for _, tool := range []string{"create_prompt", "update_prompt", "delete_prompt"} {
			s.want(tool, object(t, "name", name, "content", "x"), "Error: Prompt "+want)
		}
		for _, tool := range []string{"create_resource", "update_resource", "delete_resource"} {
			s.want(tool, object(t, "name", name, "content", "x", "uri", "a:b"), "Error: Resource "+want)
		}
	}
	if got := s.prompts(); len(got) > 0 {
		t.Errorf("the store has the item %q", got)
	}
	if len(s.Locks()) > 0 {
		t.Errorf("a call with invalid arguments took a lock: %q", s.Locks())
	}
}

func TestNameLengths(t *testing.T) {
	s := newServer(t)
	long := strings.Repeat("a", 255)
	s.want("create_prompt", `{"name":"","content":"x"}`, "Error: Prompt name cannot be empty")
	s.want("create_prompt", object(t, "name", long, "content", "x"), "Created prompt '"+long+"' in project 'auth-module'")
	s.want("create_prompt", object(t, "name", long+"a", "content", "x"), "Error: Prompt name exceeds maximum length of 255 characters")
	s.want("create_resource", object(t, "name", strings.Repeat("é", 256), "content", "x", "uri", "a:b"), "Error: Resource name exceeds maximum length of 255 characters")
}

func TestNamesSpecialToFileSystems(t *testing.T) {
	s := newServer(t)
	names := []string{".", "..", "...", "CON", "A", "a"}
	create := func() {
		for _, name := range names {
			s.want("create_prompt", object(t, "name", name, "content", "is "+name), "Created prompt '"+name+"' in project '"+os.Getenv("MCPKG_PROJECT")+"'")
		}
		if diff := cmp.Diff(names, s.prompts()); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		for _, name := range names {
			s.wantAnswer("prompts/get", object(t, "name", name), `{"messages":[{"role":"user","content":{"type":"text","text":"is `+name+`"}}]}`)
		}
	}
	outside := t.TempDir()
	s.state = filepath.Join(outside, "in", "state")
	if err := os.MkdirAll(s.state, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("BULKHEAD_STATE", s.state)
	create()
	t.Setenv("MCPKG_PROJECT", "..")
	create()
	t.Setenv("MCPKG_WORKSPACE", "..")
	create()
	err := filepath.WalkDir(outside, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasPrefix(path, s.state+string(filepath.Separator)) {
			t.Errorf("outside of the state directory: %s", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestEmptyContent(t *testing.T) {
	s := newServer(t)
	s.want("create_prompt", `{"name":"p","content":""}`, "Error: Prompt content cannot be empty")
	s.want("create_resource", `{"name":"r","uri":"a:b","content":""}`, "Error: Resource content cannot be empty")
	s.want("create_resource", `{"name":"r","uri":"a:b","content":"\n","mime_type":"image/png"}`, "Error: Resource content cannot be empty")
	s.call("create_prompt", `{"name":"p","content":"old","description":"d"}`)
	s.call("create_resource", `{"name":"r","uri":"a:b","content":"old"}`)
	s.want("update_prompt", `{"name":"p","content":"","description":"new"}`, "Error: Prompt content cannot be empty")
	s.want("update_resource", `{"name":"r","content":""}`, "Error: Resource content cannot be empty")
	s.wantAnswer("prompts/get", `{"name":"p"}`, `{"description":"d","messages":[{"role":"user","content":{"type":"text","text":"old"}}]}`)
	s.wantAnswer("resources/read", `{"uri":"a:b"}`, `{"contents":[{"uri":"a:b","mimeType":"text/plain","text":"old"}]}`)
}

func TestUpdateDescription(t *testing.T) {
	s := newServer(t)
	s.call("create_prompt", `{"name":"p","content":"kept"}`)
	s.want("update_prompt", `{"name":"p","description":"now"}`, "Updated prompt 'p' in project 'auth-module'")
	s.wantAnswer("prompts/get", `{"name":"p"}`, `{"description":"now","messages":[{"role":"user","content":{"type":"text","text":"kept"}}]}`)
	s.call("update_prompt", `{"name":"p","content":"new","description":null}`)
	s.wantAnswer("prompts/list", `{}`, `{"prompts":[{"name":"p","description":"now"}]}`)
	s.call("update_prompt", `{"name":"p","description":""}`)
	s.wantAnswer("prompts/list", `{}`, `{"prompts":[{"name":"p"}]}`)
	s.wantAnswer("prompts/get", `{"name":"p"}`, `{"messages":[{"role":"user","content":{"type":"text","text":"new"}}]}`)
}

func TestEmptyUpdate(t *testing.T) {
	s := newServer(t)
	s.call("create_prompt", `{"name":"p","content":"x"}`)
	s.want("update_prompt", `{"name":"p"}`, "Error: At least one of content or description must be provided")
	s.want("update_prompt", `{"name":"p","content":null,"mime_type":"text/plain"}`, "Error: At least one of content or description must be provided")
	s.want("update_resource", `{"name":"p"}`, "Error: At least one of content, mime_type or description must be provided")
	s.want("update_prompt", `{"name":"q","content":"x"}`, "Error: Prompt 'q' does not exist in project 'auth-module'")
	s.want("update_resource", `{"name":"p","content":"x"}`, "Error: Resource 'p' does not exist in project 'auth-module'")
}

func TestDelete(t *testing.T) {
	s := newServer(t)
	s.call("create_prompt", `{"name":"p","content":"x"}`)
	s.want("delete_prompt", `{"name":"p"}`, "Deleted prompt 'p' from project 'auth-module'")
	s.wantAnswer("prompts/list", `{}`, `{"prompts":[]}`)
	s.wantAnswer("prompts/get", `{"name":"p"}`, `{"code":-32602,"message":"Prompt 'p' not found in project 'auth-module'"}`)
	s.want("delete_prompt", `{"name":"p"}`, "Error: Prompt 'p' does not exist in project 'auth-module'")
	s.want("delete_resource", `{"name":"p"}`, "Error: Resource 'p' does not exist in project 'auth-module'")
}

func TestNameSharedByBothKinds(t *testing.T) {
	s := newServer(t)
	s.call("create_prompt", `{"name":"x","content":"a prompt"}`)
	s.call("create_resource", `{"name":"x","uri":"a:b","content":"a resource"}`)
	s.call("delete_prompt", `{"name":"x"}`)
	if diff := cmp.Diff([]string{"x"}, s.resources()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestTextOrBinary(t *testing.T) {
	const text, blob = `"text":"iVBORw0KGgo"`, `"blob":"iVBORw0KGgo="`
	for mimeType, want := range map[string]string{
		"": `"mimeType":"text/plain",` + text, "  ": `"mimeType":"text/plain",` + text,
		" text/html ": `"mimeType":"text/html",` + text, "TEXT/HTML; charset=x": `"mimeType":"TEXT/HTML; charset=x",` + text,
		"application/sql": `"mimeType":"application/sql",` + text, "image/svg+xml": `"mimeType":"image/svg+xml",` + text,
		"application/vnd.x+json":   `"mimeType":"application/vnd.x+json",` + text,
		"application/octet-stream": `"mimeType":"application/octet-stream",` + blob,
		"image/png":                `"mimeType":"image/png",` + blob, "nonsense": `"mimeType":"nonsense",` + blob,
	} {
		s := newServer(t)
		s.call("create_resource", object(t, "name", "r", "uri", "a:b", "content", "iVBORw0KGgo", "mime_type", mimeType))
		s.wantAnswer("resources/read", `{"uri":"a:b"}`, `{"contents":[{"uri":"a:b",`+want+`}]}`)
	}
	s := newServer(t)
	for i, content := range []string{"iVBORw0KGgo=", "iVBORw0KGgo", "iVBO\r\nRw0K\nGgo=\n"} {
		uri := fmt.Sprintf("a:%d", i)
		s.call("create_resource", object(t, "name", fmt.Sprint(i), "uri", uri, "content", content, "mime_type", "image/png"))
		s.wantAnswer("resources/read", object(t, "uri", uri), `{"contents":[{"uri":"`+uri+`","mimeType":"image/png",`+blob+`}]}`)
	}
	s.call("create_resource", `{"name":"plain","uri":"a:plain","content":"x"}`)
	s.wantAnswer("resources/read", `{"uri":"a:plain"}`, `{"contents":[{"uri":"a:plain","mimeType":"text/plain","text":"x"}]}`)
}

func TestInvalidBase64(t *testing.T) {
	s := newServer(t)
	for _, content := range []string{"not base64!", "a", "ab=", "ab-_", "YWJj====", "ünï"} {
		s.want("create_resource", object(t, "name", "r", "uri", "a:b", "content", content, "mime_type", "image/png"),
			"Error: Resource content is not valid base64 for MIME type 'image/png'")
	}
	if got := s.resources(); len(got) > 0 {
		t.Errorf("stored: %q", got)
	}
}

func TestDuplicateURI(t *testing.T) {
	s := newServer(t)
	s.call("create_resource", `{"name":"a","uri":"file:///test.md","content":"x"}`)
	s.want("create_resource", `{"name":"b","uri":"file:///test.md","content":"x"}`, "Error: Resource with URI 'file:///test.md' already exists in project 'auth-module'")
	s.want("create_resource", `{"name":"a","uri":"file:///test.md","content":"x"}`, "Error: Resource 'a' already exists in project 'auth-module'")
	s.call("delete_resource", `{"name":"a"}`)
	s.want("create_resource", `{"name":"b","uri":"file:///test.md","content":"x"}`, "Created resource 'b' in project 'auth-module'")
}

func TestUpdateMIMEType(t *testing.T) {
	s := newServer(t)
	read := func(want string) {
		t.Helper()
		s.wantAnswer("resources/read", `{"uri":"a:b"}`, `{"contents":[{"uri":"a:b",`+want+`}]}`)
	}
	s.call("create_resource", `{"name":"r","uri":"a:b","content":"words"}`)
	s.call("update_resource", `{"name":"r","mime_type":"image/png"}`)
	read(`"mimeType":"image/png","text":"words"`)
	s.want("update_resource", `{"name":"r","content":"not base64!"}`, "Error: Resource content is not valid base64 for MIME type 'image/png'")
	read(`"mimeType":"image/png","text":"words"`)
	s.call("update_resource", `{"name":"r","content":"iVBORw0KGgo"}`)
	read(`"mimeType":"image/png","blob":"iVBORw0KGgo="`)
	s.call("update_resource", `{"name":"r","mime_type":"text/plain"}`)
	read(`"mimeType":"text/plain","blob":"iVBORw0KGgo="`)
	s.call("update_resource", `{"name":"r","mime_type":"","content":"words"}`)
	read(`"mimeType":"text/plain","text":"words"`)
	s.call("update_resource", `{"name":"r","mime_type":"x/y","content":"eA"}`)
	read(`"mimeType":"x/y","blob":"eA=="`)
}

func TestURIsAreLabels(t *testing.T) {
	s := newServer(t)
	s.wantAnswer("resources/read", `{"uri":"file:///etc/passwd"}`, `{"code":-32602,"message":"Resource 'file:///etc/passwd' not found in project 'auth-module'"}`)
	s.call("create_resource", `{"name":"r","uri":"file:///docs/api.md","content":"x"}`)
	for _, other := range []string{"FILE:///docs/api.md", "file:///docs/./api.md", "file:///docs/api%2emd", "file:///docs/api.md/"} {
		s.wantAnswer("resources/read", object(t, "uri", other), `{"code":-32602,"message":"Resource '`+other+`' not found in project 'auth-module'"}`)
	}
	for _, bad := range []string{"docs", "/docs", ":x", "1a:b", "a b:c", "a:b c", "a:b\n", "a:\u2028", "a:\x00", "é:x"} {
		shown := strings.NewReplacer("\n", "?", "\u2028", "?", "\x00", "?").Replace(bad)
		s.want("create_resource", object(t, "name", "n", "uri", bad, "content", "x"), "Error: Resource URI '"+shown+"' is invalid")
	}
	s.want("create_resource", `{"name":"n","uri":"","content":"x"}`, "Error: Resource URI cannot be empty")
	s.want("create_resource", object(t, "name", "n", "uri", "a:"+strings.Repeat("x", 2047), "content", "x"), "Error: Resource URI exceeds maximum length of 2048 characters")
}

func TestOrder(t *testing.T) {
	s := newServer(t)
	for _, name := range []string{"b0", "a", "b", "c"} {
		s.call("create_prompt", object(t, "name", name, "content", "x"))
	}
	s.call("delete_prompt", `{"name":"b0"}`)
	s.call("update_prompt", `{"name":"a","content":"y"}`)
	s.call("delete_prompt", `{"name":"b"}`)
	s.call("create_prompt", `{"name":"b","content":"x"}`)
	if diff := cmp.Diff([]string{"a", "c", "b"}, s.prompts()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestProjectsAreIsolated(t *testing.T) {
	s := newServer(t)
	s.call("create_prompt", `{"name":"p","content":"x"}`)
	s.call("create_resource", `{"name":"r","uri":"a:b","content":"x"}`)
	for _, other := range []struct{ variable, value string }{{"MCPKG_PROJECT", "other"}, {"MCPKG_WORKSPACE", "w2"}} {
		t.Setenv(other.variable, other.value)
		if got := append(s.prompts(), s.resources()...); len(got) > 0 {
			t.Errorf("%s sees %q", other.value, got)
		}
		if got := s.call("create_resource", `{"name":"r","uri":"a:b","content":"y"}`); !strings.HasPrefix(got, "Created") {
			t.Error(got)
		}
		s.call("delete_resource", `{"name":"r"}`)
	}
	t.Setenv("MCPKG_PROJECT", "auth-module")
	t.Setenv("MCPKG_WORKSPACE", "default")
	s.wantAnswer("resources/read", `{"uri":"a:b"}`, `{"contents":[{"uri":"a:b","mimeType":"text/plain","text":"x"}]}`)
}

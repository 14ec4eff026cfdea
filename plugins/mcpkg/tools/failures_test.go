package tools_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// itemFile returns the path of the file of the newest item.
func (s *server) itemFile() string {
	s.t.Helper()
	found, err := filepath.Glob(filepath.Join(s.state, "*", "*", "*.item"))
	if err != nil || len(found) == 0 {
		s.t.Fatalf("the store has no item files: %v", err)
	}
	return found[len(found)-1]
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestDamagedItem(t *testing.T) {
	for name, damage := range map[string]func(string) string{
		"garbled":              func(string) string { return "\x00garbled" },
		"empty":                func(string) string { return "" },
		"truncated header":     func(s string) string { return s[:20] },
		"with another name":    func(s string) string { return strings.Replace(s, `"bad"`, `"ba2"`, 1) },
		"with another URI":     func(s string) string { return strings.Replace(s, `"a:bad"`, `"a:ba2"`, 1) },
		"unknown content":      func(s string) string { return strings.Replace(s, `"content":"text"`, `"content":"sound"`, 1) },
		"size above the limit": func(s string) string { return strings.Replace(s, `"size":1`, `"size":99999999999`, 1) },
		"header above the limit": func(s string) string {
			return strings.Replace(s, `"size"`, `"more":"`+strings.Repeat("x", 70<<10)+`","size"`, 1)
		},
		"format 0": func(s string) string { return strings.Replace(s, `"format":1`, `"format":0`, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.call("create_resource", `{"name":"good","uri":"a:good","content":"x"}`)
			s.call("create_resource", `{"name":"bad","uri":"a:bad","content":"x"}`)
			file := s.itemFile()
			damaged := damage(read(t, file))
			write(t, file, damaged)
			if diff := cmp.Diff([]string{"good"}, s.resources()); diff != "" {
				t.Errorf("listed items (-want +got)\n%s", diff)
			}
			if log := strings.Join(s.Log(), "\n"); !strings.Contains(log, filepath.Base(file)+" in ") {
				t.Errorf("the log does not name the file: %s", log)
			}
			s.wantAnswer("resources/read", `{"uri":"a:bad"}`, `{"code":-32603,"message":"Failed to read resources: stored item is damaged"}`)
			s.want("create_resource", `{"name":"bad","uri":"a:new","content":"x"}`, "Error: Failed to create resource: stored item is damaged")
			s.want("create_resource", `{"name":"new","uri":"a:bad","content":"x"}`, "Error: Failed to create resource: stored item is damaged")
			s.want("update_resource", `{"name":"bad","content":"y"}`, "Error: Failed to update resource: stored item is damaged")
			s.want("export_project", ``, "Error: Failed to export project: stored item is damaged")
			s.want("create_resource", `{"name":"new","uri":"a:new","content":"x"}`, "Created resource 'new' in project 'auth-module'")
			if got := read(t, file); got != damaged {
				t.Errorf("the file is now %q", got)
			}
			s.want("delete_resource", `{"name":"bad"}`, "Deleted resource 'bad' from project 'auth-module'")
			s.want("delete_resource", `{"name":"bad"}`, "Error: Resource 'bad' does not exist in project 'auth-module'")
			s.want("create_resource", `{"name":"bad","uri":"a:bad","content":"x"}`, "Created resource 'bad' in project 'auth-module'")
		})
	}
	t.Run("truncated content", func(t *testing.T) {
		s := newServer(t)
		s.call("create_prompt", `{"name":"p","content":"12345"}`)
		file := s.itemFile()
		whole := read(t, file)
		for _, damaged := range []string{whole[:len(whole)-1], whole + "6"} {
			write(t, file, damaged)
			s.wantAnswer("prompts/get", `{"name":"p"}`, `{"code":-32603,"message":"Failed to read prompts: stored item is damaged"}`)
			s.want("update_prompt", `{"name":"p","description":"d"}`, "Error: Failed to update prompt: stored item is damaged")
		}
		s.want("delete_prompt", `{"name":"p"}`, "Deleted prompt 'p' from project 'auth-module'")
	})
	t.Run("an empty directory in the place of an item", func(t *testing.T) {
		s := newServer(t)
		s.call("create_prompt", `{"name":"p","content":"12345"}`)
		file := s.itemFile()
		if err := errors.Join(os.Remove(file), os.Mkdir(file, 0o700)); err != nil {
			t.Fatal(err)
		}
		s.want("delete_prompt", `{"name":"p"}`, "Deleted prompt 'p' from project 'auth-module'")
	})
	t.Run("an item of a newer format is not deleted", func(t *testing.T) {
		s := newServer(t)
		s.call("create_prompt", `{"name":"p","content":"12345"}`)
		write(t, s.itemFile(), `{"format":2}`+"\n")
		s.want("delete_prompt", `{"name":"p"}`, "Error: Failed to delete prompt: the store was written by a newer version")
	})
	t.Run("other files are kept", func(t *testing.T) {
		s := newServer(t)
		s.call("create_prompt", `{"name":"p","content":"x"}`)
		stray := filepath.Join(filepath.Dir(s.itemFile()), "notes~")
		write(t, stray, "mine")
		s.call("create_prompt", `{"name":"q","content":"x"}`)
		if got := s.prompts(); len(got) != 2 || read(t, stray) != "mine" {
			t.Errorf("got %q", got)
		}
	})
}

func TestDamagedOrNewerStoreIsNotChanged(t *testing.T) {
	const newer = "the store was written by a newer version"
	for name, test := range map[string]struct{ pattern, content, reason string }{
		"workspace of a newer version": {"*/workspace.json", `{"format":2,"name":["x"]}`, newer},
		"project of a newer version":   {"*/*/project.json", `{"format":2}`, newer},
		"item of a newer version":      {"*/*/*.item", `{"format":2,"size":"1"}` + "\nx", newer},
		"garbled workspace":            {"*/workspace.json", `{`, "the store is damaged: workspace.json is invalid (the log contains its path)"},
		"garbled project":              {"*/*/project.json", ``, "the store is damaged: project.json is invalid (the log contains its path)"},
		"project of another name":      {"*/*/project.json", `{"format":1,"name":"x"}`, "the store is damaged: project.json is invalid (the log contains its path)"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.call("create_prompt", `{"name":"p","content":"x"}`)
			found, err := filepath.Glob(filepath.Join(s.state, filepath.FromSlash(test.pattern)))
			if err != nil || len(found) != 1 {
				t.Fatalf("want one file that matches the pattern: %v, %v", found, err)
			}
			write(t, found[0], test.content)
			before := snapshot(t, s.state)
			s.wantAnswer("prompts/list", `{}`, `{"code":-32603,"message":"Failed to read prompts: `+test.reason+`"}`)
			s.wantAnswer("prompts/get", `{"name":"p"}`, `{"code":-32603,"message":"Failed to read prompts: `+test.reason+`"}`)
			s.want("create_prompt", `{"name":"p","content":"x"}`, "Error: Failed to create prompt: "+test.reason)
			s.want("update_prompt", `{"name":"p","content":"x"}`, "Error: Failed to update prompt: "+test.reason)
			s.want("delete_prompt", `{"name":"p"}`, "Error: Failed to delete prompt: "+test.reason)
			s.want("export_project", ``, "Error: Failed to export project: "+test.reason)
			if got := s.call("import_project", object(t, "content", oneProject, "overwrite", true)); !strings.HasPrefix(got, "Error: Failed to import project: "+test.reason) {
				t.Error(got)
			}
			if diff := cmp.Diff(before, snapshot(t, s.state)); diff != "" {
				t.Errorf("(-before +after)\n%s", diff)
			}
		})
	}
}

const oneProject = `{"format":"mcpkg-project","version":1,"name":"n","prompts":[{"name":"p","content":"new"}],"resources":[]}`

const oneResource = `{"format":"mcpkg-project","version":1,"name":"n","resources":[{"name":"r","uri":"a:b","content":"new"}]}`

// snapshot returns the content of each file below the directory root. The keys are the paths of the files.
func snapshot(t *testing.T, root string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files[path] = read(t, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestSizes(t *testing.T) {
	testenv.NotShort(t, "makes files of the greatest size")
	s := newServer(t)
	mib := func(n int) string { return strings.Repeat("x", n<<20) }
	s.want("create_prompt", object(t, "name", "p", "content", mib(1)+"x"), "Error: Prompt content exceeds maximum size of 1 MiB")
	s.want("create_prompt", object(t, "name", "p", "content", mib(1)), "Created prompt 'p' in project 'auth-module'")
	s.want("update_prompt", object(t, "name", "p", "content", mib(1)+"x"), "Error: Prompt content exceeds maximum size of 1 MiB")
	s.want("create_resource", object(t, "name", "r", "uri", "a:b", "content", mib(5)), "Error: Resource content exceeds maximum size of 4 MiB")
	five := base64.StdEncoding.EncodeToString([]byte(mib(5)))
	s.want("create_resource", object(t, "name", "r", "uri", "a:b", "content", five, "mime_type", "image/png"), "Error: Resource content exceeds maximum size of 4 MiB")
	s.want("create_resource", object(t, "name", "r", "uri", "a:b", "content", strings.Repeat("\x00", 2<<20)), "Error: Resource content exceeds maximum size of 7 MiB as a JSON string")
	s.want("create_prompt", object(t, "name", "q", "content", "x", "description", strings.Repeat("é", 4097)), "Error: Prompt description exceeds maximum length of 4096 characters")
	s.want("update_resource", object(t, "name", "q", "description", strings.Repeat("é", 4097)), "Error: Resource description exceeds maximum length of 4096 characters")
	s.want("create_prompt", object(t, "name", "q", "content", "x", "description", strings.Repeat("\x01", 4096)), "Created prompt 'q' in project 'auth-module'")
	s.want("create_resource", object(t, "name", "r", "uri", "a:b", "content", "x", "mime_type", strings.Repeat("x", 256)), "Error: Resource MIME type exceeds maximum length of 255 characters")

	four := base64.StdEncoding.EncodeToString([]byte(mib(4)))
	s.want("create_resource", object(t, "name", "r", "uri", "a:b", "content", four, "mime_type", "image/png"), "Created resource 'r' in project 'auth-module'")
	s.wantAnswer("resources/read", `{"uri":"a:b"}`, `{"contents":[{"uri":"a:b","mimeType":"image/png","blob":"`+four+`"}]}`)
}

func TestContentIsUnchanged(t *testing.T) {
	s := newServer(t)
	content := "a\r\nb\rc\n\u2028\u2029 😀 \x00\x01\x7f <&> \ufeff\ufffd \"\\ \t end\n"
	s.call("create_prompt", object(t, "name", "p", "content", content))
	s.call("create_resource", object(t, "name", "r", "uri", "a:b", "content", content))
	var prompt struct {
		Messages []struct{ Content struct{ Text string } }
	}
	if err := json.Unmarshal([]byte(s.answer("prompts/get", `{"name":"p"}`)), &prompt); err != nil {
		t.Fatal(err)
	}
	var resource struct{ Contents []struct{ Text string } }
	if err := json.Unmarshal([]byte(s.answer("resources/read", `{"uri":"a:b"}`)), &resource); err != nil {
		t.Fatal(err)
	}
	if got := prompt.Messages[0].Content.Text; got != content {
		t.Errorf("prompt: %q", got)
	}
	if got := resource.Contents[0].Text; got != content {
		t.Errorf("resource: %q", got)
	}
}

func TestUnwritableStore(t *testing.T) {
	if testenv.AsNobody(t) {
		return
	}
	s := newServer(t)
	s.call("create_prompt", `{"name":"p","content":"x"}`)
	dir := filepath.Dir(s.itemFile())
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(dir, 0o700) })
	if diff := cmp.Diff([]string{"p"}, s.prompts()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	s.want("create_prompt", `{"name":"q","content":"x"}`, "Error: Failed to create prompt: the store is read-only")
	s.want("update_prompt", `{"name":"p","content":"y"}`, "Error: Failed to update prompt: the store is read-only")
	s.want("delete_prompt", `{"name":"p"}`, "Error: Failed to delete prompt: the store is read-only")
	if len(s.Notifications()) != 1 {
		t.Errorf("a failed change sent notifications: %v", s.Notifications())
	}
}

func TestUnreadableStore(t *testing.T) {
	s := newServer(t)
	state := filepath.Join(s.state, "file")
	write(t, state, "not a directory")
	t.Setenv("BULKHEAD_STATE", state)
	reason := syscall.ENOTDIR.Error()
	s.wantAnswer("prompts/list", `{}`, `{"code":-32603,"message":"Failed to read prompts: `+reason+`"}`)
	s.wantAnswer("resources/list", `{}`, `{"code":-32603,"message":"Failed to read resources: `+reason+`"}`)
	s.wantAnswer("prompts/get", `{"name":"p"}`, `{"code":-32603,"message":"Failed to read prompts: `+reason+`"}`)
	s.wantAnswer("resources/read", `{"uri":"a:b"}`, `{"code":-32603,"message":"Failed to read resources: `+reason+`"}`)
	s.want("create_prompt", `{"name":"p","content":"x"}`, "Error: Failed to create prompt: "+reason)
	s.want("delete_resource", `{"name":"p"}`, "Error: Failed to delete resource: "+reason)
}

func TestSelection(t *testing.T) {
	const invalid = "name 'a b' contains invalid characters. Allowed: a-z, A-Z, 0-9, -, _, ."
	const required = "--project flag is required: grant the variable MCPKG_PROJECT to this plugin (bulkhead serve --env MCPKG_PROJECT=NAME, or env in bulkhead.toml)"
	for name, test := range map[string]struct{ variable, value, want string }{
		"no project":           {"MCPKG_PROJECT", "", required},
		"an invalid project":   {"MCPKG_PROJECT", "a b", "Project " + invalid},
		"a project too long":   {"MCPKG_PROJECT", strings.Repeat("a", 256), "Project name exceeds maximum length of 255 characters"},
		"an invalid workspace": {"MCPKG_WORKSPACE", "a b", "Workspace " + invalid},
		"an unknown value":     {"MCPKG_CREATE", "sometimes", "MCPKG_CREATE is 'sometimes': set it to 'never' or unset it"},
		"no state directory":   {"BULKHEAD_STATE", "", "this plugin has no state directory: set HOME or XDG_STATE_HOME in the environment of the host"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			t.Setenv(test.variable, test.value)
			s.want("create_prompt", `{"name":"p","content":"x"}`, "Error: "+test.want)
			for method, params := range map[string]string{
				"prompts/list": `{}`, "prompts/get": `{"name":"p"}`, "resources/list": `{}`, "resources/read": `{"uri":"a:b"}`,
			} {
				s.wantAnswer(method, params, `{"code":-32603,"message":"`+test.want+`"}`)
			}
		})
	}
}

func TestRequiredProject(t *testing.T) {
	s := newServer(t)
	t.Setenv("MCPKG_PROJECT", "x")
	t.Setenv("MCPKG_CREATE", "never")
	const want = "Project 'x' does not exist in workspace 'default'"
	for _, tool := range []string{"create_prompt", "update_prompt", "delete_prompt", "export_project"} {
		s.want(tool, `{"name":"p","content":"x"}`, "Error: "+want)
	}
	for method, params := range map[string]string{
		"prompts/list": `{}`, "prompts/get": `{"name":"p"}`, "resources/list": `{}`, "resources/read": `{"uri":"a:b"}`,
	} {
		s.wantAnswer(method, params, `{"code":-32603,"message":"`+want+`"}`)
	}
	t.Setenv("MCPKG_CREATE", "")
	s.call("create_prompt", `{"name":"p","content":"x"}`)
	t.Setenv("MCPKG_CREATE", "never")
	s.want("create_prompt", `{"name":"q","content":"x"}`, "Created prompt 'q' in project 'x'")
	if err := os.RemoveAll(filepath.Dir(s.itemFile())); err != nil {
		t.Fatal(err)
	}
	s.wantAnswer("prompts/list", `{}`, `{"code":-32603,"message":"`+want+`"}`)
}

func TestArguments(t *testing.T) {
	s := newServer(t)
	for _, test := range []struct{ tool, arguments, want string }{
		{"create_prompt", `{"name":"p"}`, "Missing required argument 'content'"},
		{"create_prompt", ``, "Missing required argument 'name'"},
		{"create_prompt", `[]`, "Missing required argument 'name'"},
		{"create_prompt", `null`, "Missing required argument 'name'"},
		{"create_prompt", `{"name":null,"content":"x"}`, "Missing required argument 'name'"},
		{"create_prompt", `{"NAME":"p","content":"x"}`, "Missing required argument 'name'"},
		{"create_prompt", `{"name":"a b","content":7}`, "Argument 'content' must be a string"},
		{"create_prompt", `{"name":["p"],"content":"x"}`, "Argument 'name' must be a string"},
		{"create_prompt", `{"name":"p","content":"x","description":false}`, "Argument 'description' must be a string"},
		{"create_resource", `{"name":"p","content":"x"}`, "Missing required argument 'uri'"},
		{"update_resource", `{"name":"p","mime_type":{}}`, "Argument 'mime_type' must be a string"},
		{"delete_prompt", `{}`, "Missing required argument 'name'"},
		{"import_project", `{"content":"{}","overwrite":"yes"}`, "Argument 'overwrite' must be a boolean"},
	} {
		s.want(test.tool, test.arguments, "Error: "+test.want)
	}
	s.want("create_prompt", `{"name":"p","content":"x","uri":9,"more":{}}`, "Created prompt 'p' in project 'auth-module'")
	if _, err := s.CallTool("rename_prompt", `{}`); err == nil {
		t.Error("an unknown tool is not an error")
	}
}

func TestLockPrecedesReads(t *testing.T) {
	s := newServer(t)
	s.call("create_prompt", `{"name":"p","content":"x"}`)
	taken := len(s.Locks())
	s.prompts()
	s.call("export_project", ``)
	if len(s.Locks()) != taken {
		t.Error("readers take a lock")
	}
	t.Run("concurrent changes of another server are visible", func(t *testing.T) {
		s.Handle(abi.OpLock, func(json.RawMessage) (any, error) { return nil, os.Remove(s.itemFile()) })
		s.want("update_prompt", `{"name":"p","content":"y"}`, "Error: Prompt 'p' does not exist in project 'auth-module'")
	})
	t.Run("without a lock nothing is changed", func(t *testing.T) {
		s.Handle(abi.OpLock, func(json.RawMessage) (any, error) { return nil, errors.New("not a directory") })
		s.want("create_prompt", `{"name":"p","content":"y"}`, "Error: Failed to create prompt: the store cannot be locked: lock: not a directory (failed)")
		if got := s.prompts(); len(got) > 0 {
			t.Errorf("got %q", got)
		}
	})
}

func TestNotifications(t *testing.T) {
	s := newServer(t)
	for _, test := range []struct{ tool, arguments, want string }{
		{"create_prompt", `{"name":"p","content":"x"}`, "notifications/prompts/list_changed{}"},
		{"create_prompt", `{"name":"p","content":"x"}`, ""},
		{"update_prompt", `{"name":"p","content":"x"}`, "notifications/prompts/list_changed{}"},
		{"delete_prompt", `{"name":"p"}`, "notifications/prompts/list_changed{}"},
		{"create_resource", `{"name":"r","uri":"a:b","content":"x"}`, "notifications/resources/list_changed{}"},
		{"update_resource", `{"name":"r","content":"y"}`, `notifications/resources/list_changed{} notifications/resources/updated{"uri":"a:b"}`},
		{"import_project", object(t, "content", oneProject), "notifications/prompts/list_changed{}"},
		{"import_project", object(t, "content", oneResource, "overwrite", true), `notifications/resources/list_changed{} notifications/resources/updated{"uri":"a:b"}`},
		{"delete_resource", `{"name":"r"}`, `notifications/resources/list_changed{} notifications/resources/updated{"uri":"a:b"}`},
		{"import_project", object(t, "content", oneResource), "notifications/resources/list_changed{}"},
		{"export_project", `{}`, ""},
	} {
		before := len(s.Notifications())
		s.call(test.tool, test.arguments)
		var got []string
		for _, n := range s.Notifications()[before:] {
			got = append(got, n.Method+string(n.Params))
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s sent %q, want %q", test.tool, got, test.want)
		}
	}
	s.Handle(abi.OpNotify, func(json.RawMessage) (any, error) { return nil, errors.New("nobody listens") })
	s.want("create_prompt", `{"name":"q","content":"x"}`, "Created prompt 'q' in project 'auth-module'")
}

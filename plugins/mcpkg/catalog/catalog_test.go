package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/item"
	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/store"
)

func TestSelect(t *testing.T) {
	for name, test := range map[string]struct {
		variables map[string]string
		want      Selection
	}{
		"the workspace is default": {map[string]string{"MCPKG_PROJECT": "p", "BULKHEAD_STATE": "/s"}, Selection{"/s", "default", "p", false}},
		"all variables are set": {map[string]string{"MCPKG_PROJECT": "p", "MCPKG_WORKSPACE": "w", "MCPKG_CREATE": "never", "BULKHEAD_STATE": "/s"},
			Selection{"/s", "w", "p", true}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Select(func(name string) string { return test.variables[name] })
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got)\n%s", err, diff)
			}
		})
	}
}

func TestReasonsContainNoPath(t *testing.T) {
	for _, test := range []struct {
		err  error
		want string
	}{
		{&fs.PathError{Op: "open", Path: "/secret", Err: syscall.ENOSPC}, syscall.ENOSPC.Error()},
		{&os.LinkError{Op: "rename", Old: "/secret", New: "/x", Err: syscall.EIO}, syscall.EIO.Error()},
		{fmt.Errorf("write: %w", &fs.PathError{Op: "open", Path: "/secret", Err: syscall.EROFS}), "the store is read-only"},
		{&fs.PathError{Op: "open", Path: "/secret", Err: syscall.EACCES}, "the store is read-only"},
		{&fs.PathError{Op: "open", Path: "/secret", Err: syscall.EPERM}, "the store is read-only"},
		{store.ErrNewer, "the store was written by a newer version"},
	} {
		if got := failure("create prompt", test.err).Error(); got != "Failed to create prompt: "+test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

func newCatalog(t *testing.T) *Catalog {
	t.Helper()
	return Open(Selection{State: t.TempDir(), Workspace: "default", Project: "p"}, Dependencies{
		Lock: func(string) error { return nil }, Warn: func(text string) { t.Log(text) }})
}

// TestFirstErrorOfContractOrderIsReported makes calls with several errors each. The reported error is the one that the
// contract checks first.
func TestFirstErrorOfContractOrderIsReported(t *testing.T) {
	c := newCatalog(t)
	empty, word, badType := "", "word!", "image/png"
	for _, test := range []struct {
		name string
		err  error
		want string
	}{
		{"the name before the URI", c.CreateResource("", "", "", "", ""), "Resource name cannot be empty"},
		{"the URI before the content", c.CreateResource("r", "", "", "", ""), "Resource URI cannot be empty"},
		{"empty before base64", c.CreateResource("r", "a:b", "", badType, ""), "Resource content cannot be empty"},
		{"the name before the content", c.CreatePrompt("a b", "", ""), "Prompt name 'a b' contains invalid characters. Allowed: a-z, A-Z, 0-9, -, _, ."},
		{"empty content before existence", update(c, Change{Content: &empty}), "Resource content cannot be empty"},
		{"base64 before existence", update(c, Change{Content: &word, MIMEType: &badType}), "Resource content is not valid base64 for MIME type 'image/png'"},
		{"empty update before existence", update(c, Change{}), "At least one of content, mime_type or description must be provided"},
		{"existence last", update(c, Change{Content: &word}), "Resource 'r' does not exist in project 'p'"},
	} {
		if test.err == nil || test.err.Error() != test.want {
			t.Errorf("%s: got %v, want %s", test.name, test.err, test.want)
		}
	}
}

func update(c *Catalog, change Change) error {
	_, err := c.Update(item.Resource, "r", change)
	return err
}

func TestTooLargeExportIsRefused(t *testing.T) {
	testenv.NotShort(t, "makes files of the greatest size")
	c := newCatalog(t)
	megabyte := make([]byte, 1<<20)
	for i := range megabyte {
		megabyte[i] = '\n' // a line break takes 3 bytes in the response, \\n, because the JSON file is escaped again as a JSON string
	}
	const want = "Failed to export project: the exported file is larger than 7 MiB as a JSON string, the limit of a response: move items to another project"
	for i := range 8 {
		_, err := c.Export()
		if i < 3 && err != nil || i >= 3 && (err == nil || err.Error() != want) {
			t.Errorf("export of %d MiB: got the error %v", i, err)
		}
		if err := c.CreatePrompt(fmt.Sprint(i), string(megabyte), ""); err != nil {
			t.Fatal(err)
		}
	}
}

func TestGetReportsMissingItem(t *testing.T) {
	_, err := newCatalog(t).Resource("a:\n")
	absent := (*NotFoundError)(nil)
	if !errors.As(err, &absent) || err.Error() != "Resource 'a:?' not found in project 'p'" {
		t.Errorf("got %v", err)
	}
}

package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// Bounds of the files that a config includes, directly and indirectly.
const (
	maxDepth    = 4
	maxIncluded = 64
	maxTotal    = 4 << 20 // bytes of all included files together
)

// File is one of the files that a config consists of.
type File struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"` // digest of the file's content
	Pinned bool   `json:"pinned"` // the include entry states the SHA-256 of this file
}

// include merges the included files into doc, the document of file. The result files lists file and the included files. The result
// unread lists the paths of included files that cannot be read. Problems are reported in doc.
func include(doc *tomlfile.Doc, file string, data []byte, read func(path string) ([]byte, error)) (files []File, unread []string) {
	i := includer{read: read, main: doc, files: []File{{Path: file, SHA256: userfile.Digest(data)}}, places: map[string]string{}}
	i.places[canonical(file)] = ""
	i.merge(doc, file, []string{canonical(file)})
	return i.files, i.unread
}

type includer struct {
	read   func(path string) ([]byte, error)
	main   *tomlfile.Doc
	files  []File
	unread []string
	total  int               // bytes of all files read so far
	places map[string]string // position of the entry that includes each file, keyed by the file's canonical path; empty for the main file
}

// merge merges the files that file includes into doc. chain has the canonical paths of the files from the main file to this one.
func (i *includer) merge(doc *tomlfile.Doc, file string, chain []string) {
	root := doc.Root()
	for n, item := range root.Items("include") {
		key := fmt.Sprintf("include[%d]", n)
		fault := func(what, remedy string) {
			doc.Add(tomlfile.Problem{Line: item.Line, Key: key, What: what, Remedy: remedy})
		}
		text, pin := item.Text, ""
		if in := item.Table; in != nil {
			text, pin = in.Required("path", includeRemedy), manifest.ReadDigest(in, "sha256")
		}
		if item.Wrong || text == "" && item.Table != nil {
			continue // already reported when the item was parsed
		}
		if err := checkInclude(text); err != nil {
			fault(fmt.Sprintf("%s %v", tomlfile.Quote(text), err), includeRemedy)
			continue
		}
		path := absolute(filepath.Dir(file), text)
		real := canonical(path)
		first, twice := i.places[real]
		switch {
		case slices.Contains(chain, real):
			fault(fmt.Sprintf("%s includes itself", path), "remove it")
		case twice:
			fault(fmt.Sprintf("%s is already included in %s", path, first), "remove one of the two")
		case len(chain) > maxDepth:
			fault(fmt.Sprintf("%s is included more than %d deep", path, maxDepth), "include it in a file nearer to the config")
		case len(i.files) > maxIncluded:
			fault(fmt.Sprintf("more than %d files are included", maxIncluded), "merge some of them")
		default:
			i.places[real] = fmt.Sprintf("%s:%d", file, item.Line)
			if child := i.parse(path, pin, fault); child != nil {
				i.merge(child, path, append(slices.Clone(chain), real))
				doc.Include(child, pluginsArray)
			}
		}
	}
}

const includeRemedy = "write the path of a file, absolute or relative to the directory of the file that includes it"

func checkInclude(path string) error {
	switch {
	case path == "":
		return errors.New("is empty")
	case strings.ContainsRune(path, 0):
		return errors.New("contains a NUL byte")
	case strings.Contains(path, opening):
		return errors.New("has a variable, which is not expanded here")
	}
	return nil
}

// parse reads and parses an included file. It returns nil if it reported a problem.
func (i *includer) parse(path, pin string, fault func(what, remedy string)) *tomlfile.Doc {
	data, err := i.read(path)
	if err != nil {
		i.unread = append(i.unread, path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		remedy := "correct the path, or create the file"
		if strings.ContainsAny(path, "*?[") {
			remedy = "patterns are not expanded: write the path of each file"
		}
		fault(fmt.Sprintf("there is no file %s", path), remedy)
		return nil
	case err != nil:
		fault(fmt.Sprintf("%s: %v", path, err), "")
		return nil
	}
	sum := userfile.Digest(data)
	if i.files = append(i.files, File{Path: path, SHA256: sum, Pinned: pin != ""}); pin != "" && pin != sum {
		fault(fmt.Sprintf("%s has changed since it was pinned: its SHA-256 is now %s", path, sum), "review it again and write the new digest")
		return nil
	}
	if i.total += len(data); i.total > maxTotal {
		fault(fmt.Sprintf("the included files have more than %d MiB in total", maxTotal>>20), "remove some")
		return nil
	}
	doc, problems := tomlfile.Parse(path, data)
	for _, p := range problems {
		i.main.Add(p)
	}
	return doc
}

// canonical returns the path by which include recognizes a file that is included twice.
func canonical(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}

// filesOf returns, for each key of [defaults] that an included file sets, that file. file is the main file.
func filesOf(file string, defaults, limits *tomlfile.Table) map[string]string {
	var out map[string]string
	add := func(t *tomlfile.Table, prefix, key string) {
		if from := t.FileOf(key); from != file {
			if out == nil {
				out = map[string]string{}
			}
			out[prefix+key] = from
		}
	}
	if defaults.Has("deny") {
		add(defaults, "", "deny")
	}
	for _, limit := range (manifest.Limits{}).List() {
		if limits.Has(limit.Key) {
			add(limits, "limits.", limit.Key)
		}
	}
	return out
}

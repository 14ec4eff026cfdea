package archive

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"path"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/sdk/digest"
)

// maxLinks is the maximum length of a chain of links.
const maxLinks = 8

// Check validates the whole archive at path and returns a listing of its content. Check writes nothing. If want is not
// "", it is the expected checksum, and Check reports a mismatch before any other problem.
//
// Errors have the code ChecksumMismatch, ManifestInvalid for a problem in aam.yaml, or ArchiveInvalid.
func Check(s files.System, path, want string, limits Limits) (*Listing, error) {
	return check(s, path, want, limits, nil)
}

// check does the work of Check. Unless keep is nil, check also writes the decompressed tar to keep.
func check(s files.System, path, want string, limits Limits, keep io.Writer) (*Listing, error) {
	a, err := open(regular{s}, path, limits, digest.New())
	if err != nil {
		return nil, err
	}
	defer a.file.Close()
	a.keep = keep
	c := checker{stream: a, tree: newTree(), at: map[string]int{}}
	err = c.members()
	if err == nil {
		err = a.finish()
	}
	if err != nil {
		if want == "" || a.drain() != nil {
			return nil, err
		}
	}
	if got := a.checksum(); want != "" && got != want {
		return nil, fault.New(fault.ChecksumMismatch, "archive %s has the checksum %s, not %.100q", path, got, want).
			WithHint("The archive is not the published file, so none of its content was used")
	}
	if err != nil {
		return nil, err
	}
	return c.listing()
}

// checker collects and validates the members of an archive.
type checker struct {
	*stream
	tree     *tree
	files    []File
	links    []string       // parallel to files: the target of each file that is a link, and "" for any other file
	at       map[string]int // the index in files of each path
	manifest []byte
	total    int64
}

func (c *checker) members() error {
	for {
		name, k, err := c.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if name == "." {
			continue
		}
		if err := c.tree.add(name, k); err != nil {
			return invalid(c.path, "%w", err)
		}
		if k == folder {
			continue
		}
		if err := c.take(name, k); err != nil {
			return err
		}
	}
}

// take adds a file or link to the checker. A member with the path of an earlier member replaces the earlier one, as in
// an extraction by tar.
func (c *checker) take(name string, k kind) error {
	entry, target := File{Path: name, Size: c.header.Size, Executable: c.header.Mode&0o100 != 0, member: c.member}, ""
	if k == link {
		if target = c.target(name); target == "" {
			return invalid(c.path, "member %.100q is a link to %.100q, outside of the package", name, c.header.Linkname)
		}
		entry.Size, entry.member = 0, -1
	}
	if name == manifest.FileName {
		if err := c.takeManifest(k); err != nil {
			return err
		}
	}
	place, there := c.at[name]
	if !there {
		c.at[name] = len(c.files)
		c.files, c.links = append(c.files, entry), append(c.links, target)
		return nil
	}
	c.files[place], c.links[place] = entry, target
	return nil
}

func (c *checker) takeManifest(k kind) error {
	if k == link {
		return fault.New(fault.ManifestInvalid, "archive %s: %s is a link, but must be a file", c.path, manifest.FileName)
	}
	var data bytes.Buffer
	if _, err := io.Copy(&data, io.LimitReader(c.tar, manifest.MaxSize+1)); err != nil {
		return c.broken(err)
	}
	c.manifest = data.Bytes()
	if c.manifest == nil {
		c.manifest = []byte{}
	}
	return nil
}

// target returns the path to which the current member, a link called name, refers. It returns "" if that path is
// outside of the package. The target of a symbolic link is relative to the directory of the link, and that of a hard
// link is relative to the root of the package.
func (c *checker) target(name string) string {
	to := c.header.Linkname
	if strings.HasPrefix(to, "/") || to == "" {
		return ""
	}
	if c.header.Typeflag == tar.TypeSymlink {
		to = path.Join(path.Dir(name), to)
	}
	if to = path.Clean(to); to == "." || to == ".." || strings.HasPrefix(to, "../") {
		return ""
	}
	return to
}

// listing resolves the links, checks the total size, parses the manifest, and returns the listing of the archive.
func (c *checker) listing() (*Listing, error) {
	for place, target := range c.links {
		if target == "" {
			continue
		}
		to, ok := c.follow(target)
		if !ok {
			return nil, invalid(c.path, "member %.100q is a link to %.100q, which is not a file in the archive", c.files[place].Path, target)
		}
		c.files[place].copyOf, c.files[place].Size, c.files[place].Executable = to.Path, to.Size, to.Executable
	}
	for _, file := range c.files {
		if c.total += file.Size; c.total > c.limits.Inflated {
			return nil, invalid(c.path, "its files have more than %d bytes in total", c.limits.Inflated)
		}
	}
	m, err := c.parseManifest()
	if err != nil {
		return nil, err
	}
	return &Listing{Checksum: c.checksum(), Size: c.raw.n, Files: c.files, Manifest: m}, nil
}

func (c *checker) parseManifest() (*manifest.Manifest, error) {
	if c.manifest == nil {
		return nil, c.noManifest()
	}
	m, err := manifest.Parse(c.manifest)
	if err != nil {
		return nil, c.badManifest(err)
	}
	return m, nil
}

func (c *checker) noManifest() error {
	return fault.New(fault.ManifestInvalid, "archive %s has no %s at its root", c.path, manifest.FileName)
}

func (c *checker) badManifest(err error) error {
	return fault.New(fault.ManifestInvalid, "archive %s: %s: %w", c.path, manifest.FileName, err)
}

// follow follows links from the path target, and returns the file at their end. It returns false if there is no such
// file.
func (c *checker) follow(target string) (File, bool) {
	for range maxLinks {
		place, ok := c.at[target]
		if !ok {
			return File{}, false
		}
		if c.links[place] == "" {
			return c.files[place], true
		}
		target = c.links[place]
	}
	return File{}, false
}

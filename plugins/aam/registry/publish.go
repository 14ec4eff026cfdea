package registry

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/archive"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/version"
	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// latestTag is the tag that Publish gives to the most recently published version.
const latestTag = "latest"

var tagPattern = regexp.MustCompile(`^[a-z0-9-]{1,32}$`)

// Publication holds the arguments of Publish.
type Publication struct {
	Dir      string             // the directory of the package
	Manifest *manifest.Manifest // the parsed manifest in Dir
	Tag      string             // a tag for the version, in addition to the tag latest
	Now      string             // the current time in the format of Timestamp
	Limits   archive.Limits
}

// Published is the result of Publish.
type Published struct {
	Checksum string
	Size     int64 // the size of the archive, in bytes
}

// Publish packs a package and adds it to the registry atomically. It never replaces a published version. The caller
// must hold the lock whose name LockName returns. Publish first completes or rolls back an interrupted publication.
//
// Errors have the code InvalidArgument for an existing version, a directory that belongs to another package, or an
// invalid tag; the code RegistryUnreachable; or a code of archive.Pack.
func (r Registry) Publish(p Publication) (Published, error) {
	if err := r.Check(); err != nil {
		return Published{}, err
	}
	if err := checkTag(p.Tag); err != nil {
		return Published{}, err
	}
	final, err := r.Archive(p.Manifest.Name, p.Manifest.Version)
	if err != nil {
		return Published{}, err
	}
	finished, err := r.recover()
	if err != nil {
		return Published{}, err
	}
	old, before, err := r.readMetadata(p.Manifest.Name)
	if err != nil {
		return Published{}, err
	}
	if err := checkNew(old, p.Manifest); err != nil {
		if release, ok := r.isOurs(finished, old, p); ok {
			return Published{release.Checksum, release.Size}, nil
		}
		return Published{}, err
	}
	return r.publish(p, final, old, before)
}

func checkTag(tag string) error {
	if _, err := version.Parse(tag); !tagPattern.MatchString(tag) || err == nil {
		return fault.New(fault.InvalidArgument, "tag %.100q must be 1 to 32 of a-z, 0-9 and '-', and must not be a version", tag)
	}
	return nil
}

// checkNew returns an error if the registry already has the version, or if the package's directory belongs to another
// package.
func checkNew(old *Metadata, m *manifest.Manifest) error {
	if old == nil {
		return nil
	}
	if old.Name != m.Name {
		return fault.New(fault.InvalidArgument, "package '%s' in the registry uses the same directory as '%s': rename one of the packages", old.Name, m.Name)
	}
	release, ok := old.Release(m.Version)
	switch {
	case ok && release.Version == m.Version:
		return fault.New(fault.InvalidArgument, "%s@%s is already published", m.Name, m.Version).WithHint("Publish another version; published versions are never replaced")
	case ok:
		return fault.New(fault.InvalidArgument, "%s@%s is equal to the version %s, which is already published", m.Name, m.Version, release.Version)
	}
	return nil
}

// isOurs reports whether the publication that the recovery has completed is an earlier attempt to make the publication
// p.
func (r Registry) isOurs(finished *journal, old *Metadata, p Publication) (Release, bool) {
	if finished == nil || finished.name != p.Manifest.Name || finished.version != p.Manifest.Version {
		return Release{}, false
	}
	listing, err := archive.Pack(r.Files, p.Dir, p.Manifest, io.Discard, p.Limits, r.Root)
	if err != nil || listing.Checksum != finished.checksum {
		return Release{}, false
	}
	return old.Release(p.Manifest.Version)
}

func (r Registry) publish(p Publication, final string, old *Metadata, before []byte) (Published, error) {
	if err := r.checkFree(final); err != nil {
		return Published{}, err
	}
	entry := &journal{name: p.Manifest.Name, version: p.Manifest.Version, types: p.Manifest.Types()}
	added := Release{Version: p.Manifest.Version, Published: p.Now, Dependencies: append([]manifest.Dependency{}, p.Manifest.Dependencies...)}
	var err error
	if entry.index, err = r.newIndex(entry, updated(old, p, added)); err != nil {
		return Published{}, err
	}
	listing, file, err := r.pack(p, final)
	if err != nil {
		return Published{}, err
	}
	added.Checksum, added.Size, entry.checksum = listing.Checksum, listing.Size, listing.Checksum
	err = r.writeJournal(entry)
	if err == nil {
		err = r.place(file, final)
	}
	if err == nil {
		err = r.commit(p, updated(old, p, added), before)
	}
	if err == nil {
		err = r.finish(entry)
	}
	if err == nil {
		return Published{listing.Checksum, listing.Size}, nil
	}
	if errors.Is(err, errTaken) {
		return Published{}, errors.Join(err, r.forget())
	}
	return r.afterFailure(err, entry, added)
}

// errTaken means that another program has published the same version concurrently. Publish must not roll back that
// publication.
var errTaken = fault.New(fault.InvalidArgument, "another program has concurrently published this version")

// forget ends a publication. It removes the journal file and temporary files, but keeps the archive.
func (r Registry) forget() error {
	if err := r.Files.Remove(r.journalPath()); err != nil {
		return err
	}
	return r.sweep(r.Root)
}

// checkFree returns an error if an archive exists at the path final, although the metadata does not list the version.
func (r Registry) checkFree(final string) error {
	exists, err := filesystem.Exists(r.Files, final)
	if err != nil {
		return err
	}
	if exists {
		return fault.New(fault.InvalidArgument, "%s already exists, but the registry does not list it", final).
			WithHint("Remove the file, unless another program is publishing this version")
	}
	return nil
}

// full returns the error for a registry file that would exceed the size that readers accept.
func (r Registry) full(path string, limit int) error {
	return fault.New(fault.InvalidArgument, "registry '%s' is full: %s would have more than the limit of %d bytes", r.Name, path, limit).
		WithHint("Publish to another registry, or remove packages from this registry")
}

// afterFailure recovers from a failed publication. If readers may have seen the new version, it completes the
// publication; otherwise it rolls the publication back.
func (r Registry) afterFailure(err error, entry *journal, added Release) (Published, error) {
	finished, recovering := r.recover()
	switch {
	case recovering != nil:
		return Published{}, fmt.Errorf("%w (the recovery also failed, and the next aam_publish repeats it: %w)", err, recovering)
	case finished != nil && finished.checksum == entry.checksum:
		return Published{added.Checksum, added.Size}, nil
	}
	return Published{}, err
}

// packAttempts is how often a package is packed while other programs change a file that is too large to be read twice.
const packAttempts = 3

// pack writes the archive of the package to a temporary file in the registry.
func (r Registry) pack(p Publication, final string) (*archive.Listing, *atomicfile.File, error) {
	for attempt := 1; ; attempt++ {
		listing, file, err := r.packOnce(p, final)
		if attempt == packAttempts || !archive.IsChanging(err) {
			return listing, file, err
		}
	}
}

func (r Registry) packOnce(p Publication, final string) (*archive.Listing, *atomicfile.File, error) {
	options := files.Temp(r.Files, final)
	options.TempDir = r.Root
	file, err := atomicfile.New(final, options)
	if err != nil {
		return nil, nil, err
	}
	listing, err := archive.Pack(r.Files, p.Dir, p.Manifest, file, p.Limits, r.Root)
	if err == nil {
		err = file.Sync()
	}
	if err != nil {
		_ = file.Discard() // if Discard fails, the next call of recover removes the file
		return nil, nil, err
	}
	return listing, file, nil
}

// place moves the archive to the path final, at which no file may exist.
func (r Registry) place(file *atomicfile.File, final string) error {
	if err := atomicfile.MkdirAll(filepath.Dir(final), atomicfile.Options{FS: r.Files}); err != nil {
		return err
	}
	err := file.Create()
	if errors.Is(err, fs.ErrExist) { // a program that takes no lock has created the file
		return errTaken
	}
	return err
}

// commit writes the metadata of the package, which makes the new version visible.
func (r Registry) commit(p Publication, m *Metadata, before []byte) error {
	data, err := m.encode()
	if err != nil {
		return err
	}
	if len(data) > maxMetadata {
		return r.full(r.metadataPath(p.Manifest.Name), maxMetadata)
	}
	_, now, err := r.readMetadata(p.Manifest.Name)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, before) { // a program that takes no lock has changed the metadata
		return r.unreachable("another program is publishing '%s': try again", p.Manifest.Name)
	}
	return files.Replace(r.Files, r.metadataPath(p.Manifest.Name), data)
}

// updated returns the metadata old with the new version appended.
func updated(old *Metadata, p Publication, added Release) *Metadata {
	m := &Metadata{Name: p.Manifest.Name, Repository: p.Manifest.Repository}
	if old != nil {
		*m = *old
	}
	m.Description, m.Author, m.License, m.Keywords = p.Manifest.Description, p.Manifest.Author, p.Manifest.License, p.Manifest.Keywords
	m.Tags = setTag(setTag(slices.Clone(m.Tags), latestTag, added.Version), p.Tag, added.Version)
	m.Versions = append(slices.Clone(m.Versions), added)
	return m
}

func setTag(tags []Tag, name, version string) []Tag {
	at := slices.IndexFunc(tags, func(t Tag) bool { return t.Name == name })
	if at < 0 {
		return append(tags, Tag{name, version})
	}
	tags[at].Version = version
	return tags
}

package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/source"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/store"
	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// StoredPlugin is a plugin of the store.
type StoredPlugin struct {
	Plugin  string    `json:"plugin,omitempty"` // empty if its manifest is damaged
	Version string    `json:"version,omitempty"`
	Digest  string    `json:"sha256"`
	From    string    `json:"from,omitempty"`
	Size    int64     `json:"size,omitempty"` // bytes of the archive
	Fetched time.Time `json:"fetched,omitzero"`
	Dir     string    `json:"dir"`
	Pinned  bool      `json:"pinned"`            // whether the config in force pins it
	Revoked string    `json:"revoked,omitempty"` // why it is not served, if a list of the ceiling or of the config in force revokes it
	Problem string    `json:"problem,omitempty"`
}

// StoreContent is the content of the store of a user.
type StoreContent struct {
	Dir     string         `json:"dir"`
	Plugins []StoredPlugin `json:"plugins"`

	store store.Store
	// unknown is why it is not known what the config in force pins; nil if there is no config, or if it is known.
	unknown error
}

// ListStore lists the store, by name and version. The config need not be valid.
func ListStore(o discovery.Options) (*StoreContent, error) {
	plugins, err := discovery.Store(o.System)
	if err == nil {
		err = plugins.Check()
	}
	if err != nil {
		return nil, usage.Errorf("%w", err)
	}
	items, err := plugins.List()
	if err != nil {
		return nil, err
	}
	c := &StoreContent{Dir: plugins.Dir, Plugins: []StoredPlugin{}, store: plugins}
	f := c.fetched(o)
	admission, err := discovery.FindAdmission(o, f.config)
	if err != nil {
		return nil, err
	}
	for _, i := range items {
		p := StoredPlugin{Plugin: i.Name, Version: i.Version, Digest: i.Digest, From: i.Origin.From, Size: i.Origin.Size, Fetched: i.Origin.Fetched, Dir: i.Dir}
		p.Pinned = slices.ContainsFunc(f.plugins, func(pin config.Plugin) bool { return pin.SHA256 == i.Digest })
		p.Revoked = admission.Revoked(i.Digest, i.Module)
		if i.Problem != nil {
			p.Problem = i.Problem.Error()
		}
		c.Plugins = append(c.Plugins, p)
	}
	slices.SortStableFunc(c.Plugins, func(a, b StoredPlugin) int {
		return strings.Compare(a.Plugin+" "+a.Version, b.Plugin+" "+b.Version)
	})
	return c, nil
}

// fetched returns the plugins of the config in force that were fetched; none if there is no config, or if it cannot be used.
func (c *StoreContent) fetched(o discovery.Options) *fetchedPlugins {
	f, err := readFetched(o)
	if err == nil {
		return f
	}
	if !errors.Is(err, ErrNothingPinned) {
		c.unknown = err
	}
	return &fetchedPlugins{}
}

// ClearedStore says what ClearStore has removed.
type ClearedStore struct {
	Dir     string         `json:"dir"`
	Removed []StoredPlugin `json:"removed"`
	Kept    []StoredPlugin `json:"kept"` // the config in force pins them
}

// ClearStore removes the plugins of the store that the config in force does not pin, or all versions of the named plugin.
func ClearStore(ctx context.Context, o discovery.Options, plugin string) (*ClearedStore, error) {
	c, err := ListStore(o)
	if err != nil {
		return nil, err
	}
	if plugin == "" && c.unknown != nil {
		return nil, usage.Errorf("it is not known which plugins are in use (name one with --plugin): %w", c.unknown)
	}
	done := &ClearedStore{Dir: c.Dir, Removed: []StoredPlugin{}, Kept: []StoredPlugin{}}
	for _, p := range c.Plugins {
		switch {
		case plugin != "" && p.Plugin != plugin:
			continue
		case plugin == "" && p.Pinned:
			done.Kept = append(done.Kept, p)
			continue
		}
		if err := c.store.Remove(ctx, p.Digest); err != nil {
			return done, err
		}
		done.Removed = append(done.Removed, p)
	}
	if plugin != "" && len(done.Removed) == 0 {
		return nil, usage.Errorf("there is no plugin %q in %s: `bulkhead cache` lists what there is", plugin, c.Dir)
	}
	return done, nil
}

// Exported is a plugin whose archive was written to a file, or read from one.
type Exported struct {
	Plugin  string `json:"plugin,omitempty"`
	Version string `json:"version,omitempty"`
	Digest  string `json:"sha256,omitempty"`
	File    string `json:"file"`
	Problem string `json:"problem,omitempty"` // why it was not
}

const (
	archiveSuffix = ".plugin.tar"
	originSuffix  = ".origin.json" // appended to the name of the archive
)

// ExportStore writes the archives of the plugins that the config in force pins, or of the named ones in all versions, to a directory, each with a
// record of its origin.
func ExportStore(o discovery.Options, names []string, dir string) ([]Exported, error) {
	c, err := ListStore(o)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 && c.unknown != nil {
		return nil, usage.Errorf("it is not known which plugins are in use (name them): %w", c.unknown)
	}
	for _, name := range names {
		if !slices.ContainsFunc(c.Plugins, func(p StoredPlugin) bool { return p.Plugin == name }) {
			return nil, usage.Errorf("there is no plugin %q in %s: `bulkhead cache` lists what there is", name, c.Dir)
		}
	}
	if err := atomicfile.MkdirAll(dir, atomicfile.Options{}); err != nil {
		return nil, usage.Errorf("%w", err)
	}
	all := []Exported{}
	for _, p := range c.Plugins {
		if len(names) == 0 && !p.Pinned || len(names) > 0 && !slices.Contains(names, p.Plugin) {
			continue
		}
		e := Exported{Plugin: p.Plugin, Version: p.Version, Digest: p.Digest, Problem: p.Problem}
		if p.Problem == "" {
			// Two plugins of different sources can have the same name and version.
			e.File = filepath.Join(dir, fmt.Sprintf("%s-%s-%.8s%s", p.Plugin, p.Version, p.Digest, archiveSuffix))
			if err := c.export(p.Digest, e.File); err != nil {
				return all, err
			}
		}
		all = append(all, e)
	}
	return all, nil
}

func (c *StoreContent) export(digest, file string) error {
	data, origin, err := c.store.Export(digest)
	if err != nil {
		return err
	}
	record, err := rawjson.MarshalIndent(origin, "  ")
	if err != nil {
		return err
	}
	if err := atomicfile.Replace(file, data, atomicfile.Options{}); err != nil {
		return usage.Errorf("%w", err)
	}
	if origin.Signature != "" {
		if err := atomicfile.Replace(file+signature.Extension, []byte(origin.Signature), atomicfile.Options{}); err != nil {
			return err
		}
	}
	return atomicfile.Replace(file+originSuffix, append(record, '\n'), atomicfile.Options{})
}

// ImportStore adds archives to the store, each from a file or from a directory that ExportStore has written. An archive that cannot be imported
// does not keep the others from it. Nothing is served by this that no config pins.
func ImportStore(ctx context.Context, o discovery.Options, paths []string) ([]Exported, error) {
	plugins, err := discovery.Store(o.System)
	if err != nil {
		return nil, err
	}
	all := []Exported{}
	for _, path := range paths {
		path, err := discovery.Absolute(o, path)
		if err != nil {
			return all, err
		}
		files, err := archivesIn(path)
		if err != nil {
			return all, usage.Errorf("%w", err)
		}
		for _, file := range files {
			e := importArchive(ctx, plugins, file)
			if ctx.Err() != nil {
				return all, context.Cause(ctx)
			}
			all = append(all, e)
		}
	}
	return all, nil
}

// archivesIn returns the archives of a directory, or the path itself if it is a file.
func archivesIn(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return []string{path}, err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), archiveSuffix) {
			files = append(files, filepath.Join(path, e.Name()))
		}
	}
	if files == nil {
		return nil, fmt.Errorf("%s contains no archives, whose names end in %s", path, archiveSuffix)
	}
	return files, nil
}

func importArchive(ctx context.Context, plugins store.Store, file string) Exported {
	e := Exported{File: file}
	err := func() error {
		got, err := (&source.Fetcher{}).Fetch(ctx, source.Reference{Kind: source.File, Path: file})
		if err != nil {
			return err
		}
		p, err := store.Open(got.Archive)
		if err != nil {
			return err
		}
		e.Plugin, e.Version, e.Digest = p.Manifest.Name, p.Manifest.Version, p.Manifest.Digest
		origin, err := importedOrigin(got, p.Archive, file+originSuffix)
		if err != nil {
			return err
		}
		_, err = plugins.Add(ctx, p, origin)
		return err
	}()
	if err != nil {
		e.Problem = err.Error()
	}
	return e
}

// importedOrigin returns the origin of an archive: where the record that was exported with it says that it comes from, or the file without a
// record. The signature is verified.
func importedOrigin(got *source.Fetched, sum, record string) (store.Origin, error) {
	var claimed store.Origin
	data, err := filesystem.ReadFile(filesystem.OS{}, record, store.MaxOrigin)
	isExported := !errors.Is(err, fs.ErrNotExist)
	if err == nil {
		err = json.Unmarshal(data, &claimed)
	}
	if err == nil && claimed.Archive != sum {
		err = errors.New("it is the origin of another archive")
	}
	if err == nil {
		_, err = source.Parse(claimed.From, "/")
	}
	var signer signature.Key
	if err == nil && claimed.Signer != "" {
		signer, err = signature.ParseKey(claimed.Signer)
	}
	if isExported && err != nil {
		return store.Origin{}, fmt.Errorf("%s: %w", record, err)
	}
	if signer, err = source.Verify(got.Archive, got.Signature, signer); err != nil {
		return store.Origin{}, err
	}
	origin := originOf(got, signer)
	if isExported {
		origin.From, origin.Fetched, origin.Imported = claimed.From, claimed.Fetched, true
	}
	return origin, nil
}

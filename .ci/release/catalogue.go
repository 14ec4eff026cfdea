package main

import (
	"bytes"

	"aead.dev/minisign"
	"github.com/BurntSushi/toml"
	"github.com/opencontainers/go-digest"
)

// catalogueFile names the plugins of the release, for `[sources]` of a config.
const catalogueFile = "catalogue.toml"

// catalogue is the content of catalogueFile.
type catalogue struct {
	Format  int              `toml:"catalogue"`
	Serial  int64            `toml:"serial"` // catalogues with a lower one are refused by those who have seen this one
	Plugins []catalogueEntry `toml:"plugins"`
}

type catalogueEntry struct {
	Name        string `toml:"name"`
	Version     string `toml:"version"`
	Description string `toml:"description"`
	From        string `toml:"from"`
	SHA256      string `toml:"sha256"` // of plugin.toml
	Signer      string `toml:"signer"`
	Size        int    `toml:"size"` // of the archive
}

// makeCatalogue writes the catalogue of the signed plugins and its signature. Its serial number is the time of the release.
func (r *release) makeCatalogue(plugins []*plugin) error {
	if r.registry == "" && r.download == "" {
		progress("there is no catalogue: name the place of the plugins with --registry or --download")
		return nil
	}
	public, _ := r.key.Public().(minisign.PublicKey)
	c := catalogue{Format: 1, Serial: r.date.Unix()}
	for _, p := range plugins {
		from, err := r.location(p)
		if err != nil {
			return err
		}
		c.Plugins = append(c.Plugins, catalogueEntry{p.name, p.version, p.description, from, p.manifest, public.String(), len(p.archive)})
	}
	var text bytes.Buffer
	encoder := toml.NewEncoder(&text)
	encoder.Indent = ""
	if err := encoder.Encode(c); err != nil {
		return err
	}
	signature, err := signBytes(*r.key, text.Bytes(), r.signingComment(), "signature of "+catalogueFile)
	if err != nil {
		return err
	}
	return writeFiles(r.files, map[string][]byte{catalogueFile: text.Bytes(), catalogueFile + signatureExtension: signature})
}

// location returns the reference by which a plugin is fetched: from the registry, or else from where the files of the release are.
func (r *release) location(p *plugin) (string, error) {
	if r.registry == "" {
		return r.download + "/" + p.file + "#sha256=" + digest.FromBytes(p.archive).Encoded(), nil
	}
	image, err := p.artifact()
	if err != nil {
		return "", err
	}
	sum, err := image.Digest()
	return "oci://" + r.pluginTag(p) + "@" + sum.String(), err
}

package sandbox

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// maxZone bounds zone data, in bytes; real zones have at most 4 KiB.
const maxZone = 64 << 10

// zoneDirs are the directories of the zone database on Unix systems.
var zoneDirs = []string{"/usr/share/zoneinfo", "/usr/lib/zoneinfo", "/usr/share/lib/zoneinfo", "/etc/zoneinfo"}

// LocalZone reads the local time zone as TZif data; nil means UTC. tz is the value of the environment variable TZ, and set reports
// whether the variable is set. After an optional colon, tz is the name of a zone or an absolute path; an empty tz means UTC. If
// the variable is unset, /etc/localtime is read. As in package time, UTC replaces a zone that cannot be read.
func LocalZone(tz string, set bool) []byte {
	if !set {
		return readZone("/etc/localtime")
	}
	name := strings.TrimPrefix(tz, ":")
	if filepath.IsAbs(name) {
		return readZone(name)
	}
	if !filepath.IsLocal(name) { // such as the empty name
		return nil
	}
	for _, dir := range zoneDirs {
		if data := readZone(filepath.Join(dir, name)); data != nil {
			return data
		}
	}
	return nil
}

// readZone returns nil if the file is absent or not a valid zone.
func readZone(file string) []byte {
	data, err := filesystem.ReadFile(filesystem.OS{}, file, maxZone)
	if err != nil {
		return nil
	}
	if _, err := time.LoadLocationFromTZData("Local", data); err != nil {
		return nil
	}
	return data
}

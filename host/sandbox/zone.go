package sandbox

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// maxZone bounds zone data, in bytes; the largest in use have 4 KiB.
const maxZone = 64 << 10

// zoneFolders are where Unix systems keep the zone database.
var zoneFolders = []string{"/usr/share/zoneinfo", "/usr/lib/zoneinfo", "/usr/share/lib/zoneinfo", "/etc/zoneinfo"}

// LocalZone reads the local time zone as TZif data. tz is the variable TZ, set whether it is set: it names
// a zone or, after an optional colon, a file; empty means UTC. Unset, /etc/localtime counts. Without any of
// these the result is nil, which means UTC, as it does to Go itself.
func LocalZone(tz string, set bool) []byte {
	if !set {
		return readZone("/etc/localtime")
	}
	name := strings.TrimPrefix(tz, ":")
	if name == "" {
		return nil
	}
	if filepath.IsAbs(name) {
		return readZone(name)
	}
	if !filepath.IsLocal(name) {
		return nil
	}
	for _, folder := range zoneFolders {
		if data := readZone(filepath.Join(folder, name)); data != nil {
			return data
		}
	}
	return nil
}

// readZone gives nothing where there is no zone in the file.
func readZone(file string) []byte {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxZone {
		return nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	if _, err := time.LoadLocationFromTZData("Local", data); err != nil {
		return nil
	}
	return data
}

func encodeZone(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

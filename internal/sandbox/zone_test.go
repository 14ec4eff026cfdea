//go:build unix

package sandbox

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// zoneFile returns a zone with one offset as TZif data of version 1 (https://www.rfc-editor.org/rfc/rfc8536).
func zoneFile(hours int) string {
	offset := uint32(int32(hours * 3600))
	header := "TZif\x00" + string(make([]byte, 15)) +
		"\x00\x00\x00\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00" + // no leap seconds, no transitions
		"\x00\x00\x00\x01" + "\x00\x00\x00\x04" // one type, four bytes of names
	return header + string([]byte{byte(offset >> 24), byte(offset >> 16), byte(offset >> 8), byte(offset), 0, 0}) + "XYZ\x00"
}

func TestLocalZone(t *testing.T) {
	w := newWorld(t)
	for name, content := range map[string]string{
		"zone": zoneFile(5), "garbage": "TZif, or so it says", "empty": "", "cut": zoneFile(5)[:30], "huge": zoneFile(5) + string(make([]byte, 64<<10)),
	} {
		if err := os.WriteFile(w.path("$W/"+name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	above, err := filepath.Rel("/usr/share/zoneinfo", w.path("$W/zone"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ tz, want string }{
		"UTC where TZ is empty":                 {"", ""},
		"UTC where it is a colon":               {":", ""},
		"the zone in a file":                    {"$W/zone", zoneFile(5)},
		"the zone in a file behind a colon":     {":$W/zone", zoneFile(5)},
		"UTC where the file is no zone":         {"$W/garbage", ""},
		"UTC where the file is cut off":         {"$W/cut", ""},
		"UTC where the file is empty":           {"$W/empty", ""},
		"UTC where the file is far too large":   {"$W/huge", ""},
		"UTC where the file is a directory":     {"$W/work", ""},
		"UTC where the file is a device":        {"/dev/zero", ""},
		"UTC where there is no such file":       {"$W/none", ""},
		"UTC where there is no zone of a name":  {"Nowhere/At_All", ""},
		"UTC where the name leads upward":       {above, ""},
		"UTC where it begins in the database":   {"Europe/../" + above, ""},
		"UTC where the name is two dots":        {"..", ""},
		"UTC where the name is the database's":  {".", ""},
		"UTC where TZ is a rule and not a name": {"EST5EDT,M3.2.0,M11.1.0", ""},
		"UTC where TZ has a NUL byte":           {"UTC\x00", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := LocalZone(w.path(c.tz), true)
			if string(got) != c.want || (got == nil) != (c.want == "") {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// The cases read the zone database and /etc/localtime of the machine.
func TestLocalZoneFromSystem(t *testing.T) {
	t.Run("by a name", func(t *testing.T) {
		want, err := os.ReadFile("/usr/share/zoneinfo/Asia/Tokyo")
		if err != nil {
			t.Skip("this machine has no zone database")
		}
		for _, tz := range []string{"Asia/Tokyo", ":Asia/Tokyo"} {
			if got := LocalZone(tz, true); string(got) != string(want) {
				t.Errorf("%s: got %d bytes, which differ from the %d bytes of the zone's file", tz, len(got), len(want))
			}
		}
	})
	t.Run("without TZ", func(t *testing.T) {
		want, err := os.ReadFile("/etc/localtime")
		if err != nil {
			want = nil
		}
		if got := LocalZone("Asia/Tokyo", false); string(got) != string(want) {
			t.Errorf("got %d bytes, want %d", len(got), len(want))
		}
	})
}

func TestZoneReachesModule(t *testing.T) {
	b := newWorld(t).new(t, Setup{Zone: []byte(zoneFile(-3))})
	data, err := base64.StdEncoding.DecodeString(b.Env()["BULKHEAD_ZONEINFO"])
	if err != nil {
		t.Fatal(err)
	}
	zone, err := time.LoadLocationFromTZData("Local", data)
	if err != nil {
		t.Fatal(err)
	}
	if _, offset := time.Unix(0, 0).In(zone).Zone(); offset != -3*3600 {
		t.Errorf("the offset is %d s, want %d s", offset, -3*3600)
	}
}

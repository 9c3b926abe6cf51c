package tools

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"strconv"
)

// Distribution says how probable each toolset is for a prompt.
type Distribution struct {
	Name    string
	About   string   // what it is meant for; empty for one from a file
	Chances []Chance // above zero only, in the order of Toolsets
}

// Chance is the probability of one toolset, in percent: above 0, at most 100.
type Chance struct {
	Toolset string
	Percent float64
}

// columns name the toolsets of the rows below, in the order of Toolsets.
var columns = [...]string{"web", "vision", "image_gen", "terminal", "file", "moa", "browser", "calculator"}

type row struct {
	name, about string
	percent     [len(columns)]float64
}

var rows = []row{
	{"default", "everything, always", [...]float64{100, 100, 100, 100, 100, 100, 100, 100}},
	{"image_gen", "making images, with vision and web", [...]float64{55, 90, 90, 45, 0, 10, 0, 0}},
	{"research", "web research with vision and reasoning", [...]float64{90, 50, 0, 10, 0, 40, 70, 0}},
	{"science", "science with web, terminal, files and browser", [...]float64{94, 65, 15, 94, 94, 10, 50, 0}},
	{"development", "terminal and files, sometimes web", [...]float64{30, 10, 0, 80, 80, 60, 0, 0}},
	{"safe", "everything but terminal and files", [...]float64{80, 60, 60, 0, 0, 50, 70, 0}},
	{"balanced", "equal chances", [...]float64{50, 50, 50, 50, 50, 50, 50, 0}},
	{"minimal", "web only", [...]float64{100, 0, 0, 0, 0, 0, 0, 0}},
	{"terminal_only", "running code, no network tools", [...]float64{0, 0, 0, 100, 100, 0, 0, 0}},
	{"terminal_web", "running code, with documentation from the web", [...]float64{100, 0, 0, 100, 100, 0, 0, 0}},
	{"creative", "images", [...]float64{30, 90, 90, 0, 0, 0, 0, 0}},
	{"reasoning", "mixture of agents", [...]float64{30, 0, 0, 20, 0, 90, 0, 0}},
	{"browser_use", "browser with search and vision", [...]float64{80, 70, 0, 0, 0, 0, 100, 0}},
	{"browser_only", "browser alone", [...]float64{0, 0, 0, 0, 0, 0, 100, 0}},
	{"browser_tasks", "browser tasks", [...]float64{0, 12, 0, 15, 0, 0, 97, 0}},
	{"terminal_tasks", "terminal tasks", [...]float64{97, 50, 10, 97, 97, 0, 75, 0}},
	{"mixed_tasks", "browser and terminal tasks", [...]float64{35, 15, 15, 92, 92, 0, 92, 0}},
	{"local", "what works without a key or a network", [...]float64{0, 0, 0, 100, 100, 0, 0, 100}},
}

// Distributions returns the built-in distributions, the one named default first.
func Distributions() []Distribution {
	ds := make([]Distribution, len(rows))
	for i, r := range rows {
		ds[i] = Distribution{Name: r.name, About: r.about}
		for j, p := range r.percent {
			if p > 0 {
				ds[i].Chances = append(ds[i].Chances, Chance{columns[j], p})
			}
		}
	}
	return ds
}

// Draw returns the toolsets of one prompt, in the order of Toolsets: each is flipped by its own
// probability, and if none comes up the most probable one is taken, the first one on ties. The
// result depends on the seed, the identity and the chances only, never on the name.
func (d Distribution) Draw(seed int64, identity []byte) []string {
	var drawn []string
	var likeliest Chance
	for _, c := range d.Chances {
		if c.Percent > likeliest.Percent {
			likeliest = c
		}
		if c.Percent >= 100 || fraction(seed, identity, c.Toolset)*100 < c.Percent {
			drawn = append(drawn, c.Toolset)
		}
	}
	if len(drawn) == 0 && likeliest.Toolset != "" {
		drawn = append(drawn, likeliest.Toolset)
	}
	return drawn
}

// fraction is a number in [0, 1) that looks random: the first 53 bits of a hash over
// length-prefixed parts. The tag is frozen, since recorded draws depend on it.
func fraction(seed int64, identity []byte, toolset string) float64 {
	h := sha256.New()
	for _, part := range [][]byte{
		[]byte("draw/1"),
		binary.BigEndian.AppendUint64(nil, uint64(seed)),
		identity,
		[]byte(toolset),
	} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write(part)
	}
	return float64(binary.BigEndian.Uint64(h.Sum(nil))>>11) / (1 << 53)
}

// Canonical returns the content of the distribution as fixed bytes, for the fingerprint of a
// run's settings: a JSON array of [toolset, percent] pairs. The name is not part of it.
func (d Distribution) Canonical() []byte {
	b := []byte{'['}
	for i, c := range d.Chances {
		if i > 0 {
			b = append(b, ',')
		}
		name, _ := json.Marshal(c.Toolset)
		b = append(append(append(b, '['), name...), ',')
		b = append(strconv.AppendFloat(b, c.Percent, 'f', -1, 64), ']')
	}
	return append(b, ']')
}

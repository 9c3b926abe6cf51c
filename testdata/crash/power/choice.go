package power

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"slices"
)

// sector is what a disk writes as a whole, in bytes.
const sector = 512

// fate is what became of an operation that no sync covers.
type fate struct {
	kept    bool
	sectors []bool // which of a write's; nil: all
	grown   bool   // a write that is lost made the file longer all the same
}

// parts are the operations that amount to what is left of one.
func (f fate) parts(o *op) []*op {
	switch {
	case f.kept && f.sectors == nil:
		return []*op{o}
	case !f.kept && !f.grown:
		return nil
	}
	var list []*op
	if f.grown {
		list = append(list, &op{node: o.node, data: []byte{}, off: o.off + int64(len(o.data))})
	}
	for i, kept := range f.sectors {
		if from, to := o.sector(i); kept && f.kept {
			list = append(list, &op{node: o.node, off: o.off + from, data: o.data[from:to]})
		}
	}
	return list
}

// sector is where a write's sector number i lies in its data.
func (o *op) sector(i int) (from, to int64) {
	first := o.off / sector * sector
	from = max(first+int64(i)*sector, o.off) - o.off
	to = min(first+int64(i+1)*sector-o.off, int64(len(o.data)))
	return from, to
}

func (o *op) sectors() int {
	if len(o.data) == 0 {
		return 0
	}
	return int((o.off+int64(len(o.data))-1)/sector - o.off/sector + 1)
}

// chooser draws what becomes of the operations that are not durable.
type chooser struct {
	random *rand.Rand
	open   []*op
	fates  map[*op]fate
}

// ways are the choices at one moment, in turns; the later ones are drawn anew
// each time.
var ways = []struct {
	name string
	draw func(*chooser)
}{
	{"all kept", func(c *chooser) { c.each(func(*op) fate { return fate{kept: true} }) }},
	{"all dropped", func(c *chooser) {}},
	{"names without content", func(c *chooser) { c.each(func(o *op) fate { return fate{kept: o.node == nil} }) }},
	{"content without names", func(c *chooser) { c.each(func(o *op) fate { return fate{kept: o.node != nil} }) }},
	{"in order, the last torn", (*chooser).inOrder},
	{"reordered", func(c *chooser) { c.subset(0) }},
	{"torn", func(c *chooser) { c.subset(0.5) }},
}

// choose makes choice number k at one moment.
func choose(open []*op, k int, random *rand.Rand) (how string, fates map[*op]fate) {
	c := &chooser{random: random, open: open, fates: map[*op]fate{}}
	way := ways[k%len(ways)]
	way.draw(c)
	c.keepNamesInOrder()
	return way.name, c.fates
}

func (c *chooser) each(fn func(*op) fate) {
	for _, o := range c.open {
		if f := fn(o); f.kept || f.grown {
			c.fates[o] = f
		}
	}
}

// inOrder keeps what came first, as a disk does that writes in order.
func (c *chooser) inOrder() {
	if len(c.open) == 0 {
		return
	}
	cut := c.random.IntN(len(c.open))
	for _, o := range c.open[:cut] {
		c.fates[o] = fate{kept: true}
	}
	if last := c.open[cut]; last.data != nil {
		c.fates[last] = c.tear(last)
	}
}

// subset keeps some operations, and of those a share in part only.
func (c *chooser) subset(torn float64) {
	share := []float64{0.15, 0.5, 0.85}[c.random.IntN(3)]
	c.each(func(o *op) fate {
		switch {
		case c.random.Float64() >= share:
			return fate{grown: o.data != nil && c.random.IntN(4) == 0}
		case o.data != nil && c.random.Float64() < torn:
			return c.tear(o)
		}
		return fate{kept: true}
	})
}

// tear keeps some sectors of a write: those up to one, those from one on, or
// any.
func (c *chooser) tear(o *op) fate {
	n := o.sectors()
	f := fate{kept: true, sectors: make([]bool, n), grown: c.random.IntN(2) == 0}
	cut, way := c.random.IntN(n+1), c.random.IntN(3)
	for i := range f.sectors {
		switch way {
		case 0:
			f.sectors[i] = i < cut
		case 1:
			f.sectors[i] = i >= cut
		default:
			f.sectors[i] = c.random.IntN(2) == 0
		}
	}
	return f
}

// keepNamesInOrder drops changes of a name after one of the same name that was
// dropped: a name has one history.
func (c *chooser) keepNamesInOrder() {
	broken := map[place]bool{}
	for _, o := range c.open {
		if len(o.entries) == 0 {
			continue
		}
		lost := !c.fates[o].kept || slices.ContainsFunc(o.entries, func(e entry) bool { return broken[e.place] })
		if !lost {
			continue
		}
		delete(c.fates, o)
		for _, e := range o.entries {
			broken[e.place] = true
		}
	}
}

// mark tells two choices among the same operations apart. Of a node, it tells
// two contents apart.
func mark(seed maphash.Seed, open []*op, fates map[*op]fate, of *node) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for i, o := range open {
		f, ok := fates[o]
		if !ok || of != nil && o.node != of {
			continue
		}
		fmt.Fprint(&h, i, f)
	}
	return h.Sum64()
}

// states draws up to most different states of a moment. The same seed draws the
// same states.
func (r *recording) states(at point, most int, seed uint64) []*state {
	open := r.open(at.line)
	seen := map[uint64]bool{}
	var list []*state
	hash := maphash.MakeSeed()
	for k := 0; len(list) < most && k < 3*most+len(ways); k++ {
		random := rand.New(rand.NewPCG(seed, uint64(at.line)<<16|uint64(k)))
		how, fates := choose(open, at.line+k, random)
		if m := mark(hash, open, fates, nil); !seen[m] {
			seen[m] = true
			list = append(list, &state{point: at, how: how, fates: fates})
		}
		if len(open) == 0 {
			break
		}
	}
	return list
}

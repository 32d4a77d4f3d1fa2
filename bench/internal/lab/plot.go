package lab

import (
	"fmt"
	"image/color"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// Plot is a picture of a scenario.
type Plot struct {
	// File is its name without a folder or an ending.
	File         string
	Title, YAxis string
	// Bars are drawn with a logarithmic scale; Lines as cumulative shares over a logarithmic X axis.
	Bars  []Bar
	XAxis string
	Lines []Line
}

// Bar is one value.
type Bar struct {
	Name  string
	Kind  Kind
	Value float64
}

// Line is a distribution: its sorted values are drawn against the share of values that are not higher.
type Line struct {
	Name   string
	Values []float64
}

// Bars makes the bars of a table from its medians.
func (t *Table) Bars() []Bar {
	var out []Bar
	for _, r := range t.Rows {
		out = append(out, Bar{r.Name, r.Kind, Median(r.Values)})
	}
	return out
}

var palette = []color.RGBA{
	{0x1f, 0x77, 0xb4, 0xff}, {0xd6, 0x27, 0x28, 0xff}, {0x2c, 0xa0, 0x2c, 0xff}, {0xff, 0x7f, 0x0e, 0xff},
	{0x94, 0x67, 0xbd, 0xff}, {0x8c, 0x56, 0x4b, 0xff}, {0x17, 0xbe, 0xcf, 0xff}, {0x7f, 0x7f, 0x7f, 0xff},
}

// Save writes the picture as an SVG file into the folder and returns its path.
func (p Plot) Save(folder string) (string, error) {
	pic := plot.New()
	pic.Title.Text = p.Title
	pic.Y.Label.Text = p.YAxis
	pic.Add(plotter.NewGrid())
	var err error
	if len(p.Bars) > 0 {
		err = p.bars(pic)
	} else {
		err = p.lines(pic)
	}
	if err != nil {
		return "", fmt.Errorf("plot %s: %w", p.File, err)
	}
	path := filepath.Join(folder, p.File+".svg")
	return path, pic.Save(22*vg.Centimeter, 11*vg.Centimeter, path)
}

// bars draws horizontal bars from the smallest decade on: a logarithmic scale has no zero.
func (p Plot) bars(pic *plot.Plot) error {
	low, high := p.Bars[0].Value, p.Bars[0].Value
	for _, b := range p.Bars {
		low, high = min(low, b.Value), max(high, b.Value)
	}
	if low <= 0 {
		return fmt.Errorf("a bar of %v does not fit on a logarithmic scale", low)
	}
	var names []string
	for i, b := range slices.Backward(p.Bars) {
		at := float64(len(p.Bars) - 1 - i)
		colour := map[Kind]color.RGBA{Floor: palette[7], Ours: palette[0], Peer: palette[3]}[b.Kind]
		box, err := plotter.NewPolygon(plotter.XYs{{X: low / 3, Y: at - 0.35}, {X: b.Value, Y: at - 0.35}, {X: b.Value, Y: at + 0.35}, {X: low / 3, Y: at + 0.35}})
		if err != nil {
			return err
		}
		box.Color, box.LineStyle.Width = colour, 0
		text, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: b.Value * 1.05, Y: at - 0.1}}, Labels: []string{Digits(b.Value)}})
		if err != nil {
			return err
		}
		pic.Add(box, text)
		names = append(names, b.Name)
	}
	pic.NominalY(names...)
	pic.Y.Label.Text, pic.X.Label.Text = "", p.YAxis
	pic.X.Scale, pic.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	pic.X.Min, pic.X.Max = low/3, high*4
	pic.Y.Min, pic.Y.Max = -0.6, float64(len(p.Bars))-0.4
	return nil
}

func (p Plot) lines(pic *plot.Plot) error {
	low, high := 0.0, 0.0
	for i, l := range p.Lines {
		sorted := slices.Sorted(slices.Values(l.Values))
		points := make(plotter.XYs, 0, len(sorted))
		for j, v := range sorted {
			points = append(points, plotter.XY{X: v, Y: 100 * float64(j+1) / float64(len(sorted))})
			if v > 0 && (low == 0 || v < low) {
				low = v
			}
			high = max(high, v)
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return err
		}
		line.Color, line.Width = palette[i%len(palette)], vg.Points(1.5)
		pic.Add(line)
		pic.Legend.Add(l.Name, line)
	}
	pic.X.Label.Text = p.XAxis
	pic.X.Scale, pic.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	pic.X.Min, pic.X.Max = low/1.5, high*1.5
	pic.Y.Min, pic.Y.Max = 0, 100
	pic.Legend.Top, pic.Legend.Left = true, true
	return nil
}

package main

import (
	"bytes"
	"image/color"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// picture is one plot of the report.
type picture struct {
	file  string
	title string
	x     string // what the bars' lengths are
	alt   func(*report) string
	bars  func(*report) bars
}

// bars are horizontal bars, a row each; several series are stacked, or with
// grouped stand beside each other.
type bars struct {
	names   []string
	series  []series
	grouped bool
}

type series struct {
	name   string
	values []float64
}

// Names of the pictures' files.
const (
	pictureThroughput = "bench-throughput.svg"
	pictureCPU        = "bench-cpu.svg"
	pictureLatency    = "bench-latency.svg"
)

var pictures = []picture{
	{pictureThroughput, "Requests a second, as fast as it goes", "requests/s",
		func(r *report) string { return "Bars: requests a second of each row. " + r.spoken(throughputBars(r)) }, throughputBars},
	{pictureCPU, "CPU that a limiter adds to a request", "us",
		func(r *report) string {
			return "Stacked bars: CPU added by gateway, Redis and rate-limit service. " + r.spoken(cpuBars(r))
		}, cpuBars},
	{pictureLatency, "Latency that a limiter adds, at half of its capacity", "ms",
		func(r *report) string {
			return "Bars: added latency at the median, p99 and p99.9. " + r.spoken(latencyBars(r))
		}, latencyBars},
}

func throughputBars(r *report) bars {
	b := bars{series: []series{{name: "requests/s"}}}
	for _, row := range allRows(r.tables) {
		b.names = append(b.names, row.name)
		b.series[0].values = append(b.series[0].values, over(r.figures[row.name], rps).median)
	}
	return b
}

// cpuBars are what rows add to their table's base row; less than nothing is noise,
// and drawn as nothing.
func cpuBars(r *report) bars {
	b := bars{series: []series{{name: "Envoy"}, {name: "Redis"}, {name: "rate-limit service"}}}
	for _, t := range r.tables {
		for _, row := range t.rows {
			if row.name == t.base {
				continue
			}
			b.names = append(b.names, row.name)
			for i, pick := range []func(figures) float64{
				func(f figures) float64 { return f.Envoy }, func(f figures) float64 { return f.Redis }, func(f figures) float64 { return f.Service },
			} {
				added := against(r.figures[row.name], r.figures[t.base], func(a, b figures) float64 { return pick(a) - pick(b) })
				b.series[i].values = append(b.series[i].values, max(0, added.median))
			}
		}
	}
	return b
}

func latencyBars(r *report) bars {
	b := bars{series: []series{{name: "median"}, {name: "p99"}, {name: "p99.9"}}, grouped: true}
	for _, row := range allRows(r.tables) {
		f := r.steady[row.name]
		if len(f) == 0 {
			continue
		}
		b.names = append(b.names, row.name)
		for i, pick := range []func(latencies) float64{
			func(l latencies) float64 { return l.P50 }, func(l latencies) float64 { return l.P99 }, func(l latencies) float64 { return l.P999 },
		} {
			v := over(f, func(f steadyFigures) float64 { return pick(f.Row) - pick(f.Base) }).median
			b.series[i].values = append(b.series[i].values, max(0, v))
		}
	}
	return b
}

// spoken reads a few bars out, for who doesn't see them.
func (r *report) spoken(b bars) string {
	var said []string
	for i, name := range b.names {
		if name != rowNone && name != rowService && name != rowOne && name != rowMemory429 && name != rowLocal429 {
			continue
		}
		var figures []string
		for _, s := range b.series {
			figures = append(figures, trimmed(s.values[i]))
		}
		said = append(said, name+" "+strings.Join(figures, " / "))
	}
	return strings.Join(said, ", ") + "."
}

func trimmed(v float64) string {
	if v >= 100 {
		return single(v).plain("%.0f")
	}
	return single(v).plain("%.2f")
}

// picture puts a picture into the text.
func (r *report) picture(file string) {
	for _, p := range pictures {
		if p.file == file && r.options.out != "-" && len(p.bars(r).names) > 0 {
			r.line("![%s](images/%s)\n", p.alt(r), p.file)
		}
	}
}

// pictures draws what there are figures for into a folder.
func (r *report) pictures(dir string) error {
	if len(r.figures) == 0 {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, p := range pictures {
		b := p.bars(r)
		if len(b.names) == 0 {
			continue
		}
		svg, err := drawn(p, b)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, p.file), svg, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// palette is Okabe and Ito's, which people with colour blindness tell apart.
var palette = []color.RGBA{{0x00, 0x72, 0xb2, 0xff}, {0xe6, 0x9f, 0x00, 0xff}, {0x00, 0x9e, 0x73, 0xff}}

const (
	pictureWidth = 9 * vg.Inch
	barHeight    = 20 // points that a row takes
	barWidth     = 13
	legendRows   = 3 // that the legend takes, above the first row
)

// drawn is a picture as SVG; the same figures make the same bytes. Its ground is
// white: the page may be dark.
func drawn(p picture, b bars) ([]byte, error) {
	pl := plot.New()
	pl.Title.Text, pl.X.Label.Text = p.title, p.x
	pl.BackgroundColor = color.White
	for style, size := range map[*text.Style]float64{
		&pl.Title.TextStyle: 13, &pl.X.Label.TextStyle: 10, &pl.X.Tick.Label: 9, &pl.Y.Tick.Label: 10, &pl.Legend.TextStyle: 10,
	} {
		style.Font.Variant, style.Font.Size = "Sans", vg.Points(size)
	}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.RGBA{0xe6, 0xe6, 0xe6, 0xff}, color.Transparent
	pl.Add(grid)
	// The first row is on top.
	n := len(b.names)
	names := make([]string, n)
	for i, name := range b.names {
		names[n-1-i] = name
	}
	var below *plotter.BarChart
	for i, s := range b.series {
		values := make(plotter.Values, n)
		for j, v := range s.values {
			values[n-1-j] = v
		}
		width := vg.Points(barWidth)
		if b.grouped {
			width /= vg.Length(len(b.series))
		}
		chart, err := plotter.NewBarChart(values, width)
		if err != nil {
			return nil, err
		}
		chart.Horizontal, chart.Color, chart.LineStyle.Width = true, palette[i%len(palette)], 0
		switch {
		case b.grouped:
			chart.Offset = width * (vg.Length(len(b.series)-1)/2 - vg.Length(i))
		case below != nil:
			chart.StackOn(below)
		}
		below = chart
		pl.Add(chart)
		if len(b.series) > 1 {
			pl.Legend.Add(s.name, chart)
		}
	}
	pl.NominalY(names...)
	// Another font than the one that the layout is made with may be wider: room
	// between names and bars, and beside the legend.
	pl.Y.Padding = vg.Points(20)
	pl.X.Min = 0
	pl.Y.Min = -0.7
	pl.Y.Max = float64(n) - 0.3
	if len(b.series) > 1 {
		pl.Y.Max += legendRows
	}
	pl.Legend.Top, pl.Legend.Left = true, true
	pl.Legend.Padding = vg.Points(2)
	pl.Legend.XOffs = pictureWidth / 3
	height := vg.Points(float64((n+legendRows)*barHeight + 80))
	c := vgsvg.New(pictureWidth, height)
	w, h := c.Size()
	var ground vg.Path
	ground.Move(vg.Point{})
	ground.Line(vg.Point{X: w})
	ground.Line(vg.Point{X: w, Y: h})
	ground.Line(vg.Point{Y: h})
	ground.Close()
	c.SetColor(color.White)
	c.Fill(ground)
	pl.Draw(draw.Crop(draw.New(c), vg.Points(6), vg.Points(-14), vg.Points(6), vg.Points(-6)))
	var out bytes.Buffer
	if _, err := c.WriteTo(&out); err != nil {
		return nil, err
	}
	// Few machines have the font by that name.
	return bytes.ReplaceAll(out.Bytes(), []byte("font-family:Liberation Sans"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif")), nil
}

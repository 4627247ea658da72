"""The block that tests of stops and disks compute: small, uneven, with other values everywhere."""

SMALL_BLOCK = """\
grid: {cells: [17, 13, 15], lengths: [0.17, 0.26, 0.45]}
material: {diffusivity: 1.0e-5}
boundaries:
  x_min: {kind: temperature, value: "300 + 10*y"}
initial:
  - {shape: formula, formula: "300 + 50*x + 7*y + 3*z*z"}
"""

//===- PlanDialect.h - the plan dialect's classes ---------------------------===//
#pragma once

#include "ir/tile/TileDialect.h"

#include "ir/plan/PlanDialect.h.inc"
#include "ir/plan/PlanEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/plan/PlanAttrs.h.inc"
#define GET_OP_CLASSES
#include "ir/plan/PlanOps.h.inc"
